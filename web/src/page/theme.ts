// Light or dark colours: the system's choice or the reader's, which is stored if the browser allows
// it.
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
    // Some browsers do not report print media before they draw the pages for paper.
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

  // Paper is always light.
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
      // A page opened from a file may have no storage.
    }
    this.apply();
  }

  // Returns a function that removes the listener.
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
