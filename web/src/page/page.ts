// The context of every view: the results, the address, and navigation.
import type { Results } from "../data/results";
import type { Address } from "./address";
import type { Theme } from "./theme";

export interface Page {
  readonly results: Results;
  readonly theme: Theme;
  address: Address;
  // Opens an address. A choice adds an entry to the history; typing (replace) does not.
  go(address: Address, replace?: boolean): void;
}

// A view that is open. `update` is called for an address in the same view and item; for other
// addresses the view is opened again.
export interface Opened {
  node: HTMLElement;
  update?: () => void | Promise<void>;
}

export interface View {
  readonly id: string;
  readonly title: string;
  // Returns whether these results have anything to show in the view.
  has(results: Results): boolean;
  open(page: Page): Opened | Promise<Opened>;
}
