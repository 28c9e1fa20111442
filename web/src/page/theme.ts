// Light or dark: the system's choice, or the reader's, which is remembered where the browser
// allows.
export type Choice = "auto" | "light" | "dark";

const KEY = "headgauge-theme";

export class Theme {
  private readonly listeners = new Set<() => void>();
  private readonly system = matchMedia("(prefers-color-scheme: dark)");
  private readonly paper = matchMedia("print");
  private prints = false;
  private chosen: Choice = remembered();

  constructor() {
    for (const media of [this.system, this.paper]) {
      media.addEventListener("change", () => this.apply());
    }
    // Not every browser reports print as a medium before it draws the paper.
    for (const [event, printing] of [["beforeprint", true], ["afterprint", false]] as const) {
      addEventListener(event, () => {
        this.prints = printing;
        this.apply();
      });
    }
    this.apply();
  }

  get choice(): Choice {
    return this.chosen;
  }

  // Paper is white whatever the screen is.
  get dark(): boolean {
    if (this.printing) return false;
    return this.chosen === "auto" ? this.system.matches : this.chosen === "dark";
  }

  get printing(): boolean {
    return this.prints || this.paper.matches;
  }

  choose(choice: Choice): void {
    this.chosen = choice;
    try {
      localStorage.setItem(KEY, choice);
    } catch {
      // A page from a file may not be allowed to remember anything.
    }
    this.apply();
  }

  // Returns how to stop listening.
  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private apply(): void {
    document.documentElement.dataset["theme"] = this.dark ? "dark" : "light";
    for (const listener of this.listeners) listener();
  }
}

function remembered(): Choice {
  try {
    const found = localStorage.getItem(KEY);
    return found === "light" || found === "dark" ? found : "auto";
  } catch {
    return "auto";
  }
}
