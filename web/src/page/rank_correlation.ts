// A rank correlation in a cell of a table: its value, a star if it predicts, its interval and its p.
import { signed, type Prediction } from "../figures/predictions";
import { element, type Child } from "./element";
import { shown } from "./words";

export function starred({ rho, predicts }: Pick<Prediction, "rho" | "predicts">): Child[] {
  return [
    signed(rho),
    predicts && element("span", { "aria-hidden": "true" }, "*"),
    predicts && element("span", { class: "unseen" }, " predicts"),
  ];
}

export function intervalAndP({ low, high, p }: Pick<Prediction, "low" | "high" | "p">): HTMLElement {
  const range = Number.isFinite(low) ? `${signed(low)} to ${signed(high)}, ` : "";
  return element("span", { class: "note" }, `${range}p ${shown(p, 2)}`);
}
