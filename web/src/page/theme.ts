// What all drawings share: light or dark colours, as the system chooses (paper is always light), and
// the heads that the reader pinned.
export class Theme {
  pinned: readonly string[] = [];
  private readonly listeners = new Set<() => void>();
  private readonly system = matchMedia("(prefers-color-scheme: dark)");
  private readonly paper = matchMedia("print");
  private prints = false;

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

  get dark(): boolean {
    return !this.printing && this.system.matches;
  }

  get printing(): boolean {
    return this.prints || this.paper.matches;
  }

  // Pins a head in all drawings, or unpins it.
  pin(head: string): void {
    this.pinned = this.pinned.includes(head) ? this.pinned.filter((other) => other !== head) : [...this.pinned, head];
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
