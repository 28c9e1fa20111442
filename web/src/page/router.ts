// Opens the view that the address names; back, forward and links all change the address.
import { changed, formatAddress, parseAddress, parseHead, type Address } from "./address";
import { element, fill } from "./element";
import type { Opened, Page, View } from "./page";
import { failure, message } from "./picture";
import type { Results } from "../data/results";
import type { Theme } from "./theme";

export class Router implements Page {
  address: Address;
  private opened: { key: string; view: Opened } | undefined;
  private turn = 0;

  constructor(
    readonly results: Results,
    readonly theme: Theme,
    private readonly views: readonly View[],
    private readonly place: HTMLElement,
    private readonly shown: (view: View) => void,
    signal: AbortSignal, // ends it
  ) {
    this.address = this.read();
    for (const event of ["hashchange", "popstate"]) window.addEventListener(event, () => this.arrive(), { signal });
    for (const head of (this.address.query["pin"] ?? "").split(",")) {
      if (parseHead(head) && !theme.pinned.includes(head)) theme.pin(head);
    }
    signal.addEventListener("abort", theme.onChange(() => this.keepPins()));
  }

  // Pins stay in the address of every view.
  private keepPins(): void {
    const kept = changed(this.address, { pin: this.theme.pinned.join(",") || undefined });
    if (formatAddress(kept) === formatAddress(this.address)) return;
    this.address = kept;
    history.replaceState(null, "", formatAddress(kept));
  }

  go(address: Address, replace = false): void {
    const hash = formatAddress(address);
    if (hash === formatAddress(this.address)) return;
    if (replace) history.replaceState(null, "", hash);
    else history.pushState(null, "", hash);
    this.arrive();
  }

  async start(): Promise<void> {
    await this.show();
  }

  private read(): Address {
    const address = parseAddress(location.hash);
    const known = this.views.some((view) => view.id === address.view && view.has(this.results));
    if (known) return address;
    const first = this.views.find((view) => view.has(this.results));
    return { view: first!.id, item: "", query: {} }; // every file has settings
  }

  private arrive(): void {
    const next = this.read();
    if (formatAddress(next) === formatAddress(this.address)) return;
    this.address = next;
    this.keepPins();
    void this.show();
  }

  private async show(): Promise<void> {
    const { view: id, item } = this.address;
    const view = this.views.find((other) => other.id === id)!;
    const key = `${id}/${item}`;
    const turn = ++this.turn;
    delete this.place.dataset["shown"];
    this.shown(view);
    try {
      if (this.opened?.key !== key) {
        const first = this.opened === undefined;
        this.opened = undefined;
        const opened = await this.waitFor(view.open(this));
        if (turn !== this.turn) return;
        const focused = this.place.contains(document.activeElement) ? document.activeElement?.id : "";
        fill(this.place, opened.node);
        this.opened = { key, view: opened };
        if (!first) this.announce(focused);
      }
      await this.opened.view.update?.();
    } catch (error) {
      if (turn !== this.turn) return;
      this.opened = undefined;
      fill(this.place, element("h1", {}, view.title), failure(`This view cannot be shown: ${message(error)}`));
    }
    if (turn === this.turn) this.place.dataset["shown"] = formatAddress(this.address);
  }

  // Says so if a view takes a moment.
  private async waitFor(view: Opened | Promise<Opened>): Promise<Opened> {
    const words = element("p", { class: "note", role: "status" }, "Reading the numbers …");
    const waiting = setTimeout(() => fill(this.place, words), 150);
    try {
      return await view;
    } finally {
      clearTimeout(waiting);
    }
  }

  // Scrolls a new view to its top. Focuses its heading for screen readers, or the element that led
  // here if the view has it, too.
  private announce(focused = ""): void {
    window.scrollTo(0, 0);
    const same = focused === "" ? null : document.getElementById(focused);
    if (same && this.place.contains(same)) return same.focus({ preventScroll: true });
    const heading = this.place.querySelector("h1");
    heading?.setAttribute("tabindex", "-1");
    heading?.focus({ preventScroll: true });
  }
}
