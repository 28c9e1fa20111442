// Shows how the interventions of `headgauge compare` change the loss: of the whole model, or one
// head or layer at a time.
import type { MetricName } from "../catalogue/catalogue";
import type { Cell, Results } from "../data/results";
import { variants } from "../figures/critical";
import { signed } from "../figures/predictions";
import { changed } from "./address";
import { element } from "./element";
import type { Page } from "./page";
import { formatOrder, parseOrder, table, type Column } from "./table";
import { headLink, metricLink, shown } from "./words";

const NEEDS: readonly MetricName[] = ["loss", "loss_change", "kl"];
const ROWS_SHOWN = 20; // of changes to one head at a time

export interface LossRow {
  where: string; // "3.5" for a head, "3.*" for a layer, empty for the model
  place: number;
  intervention: string;
  loss: number;
  change: number;
  error: number; // standard error of the change
  kl: number;
}

export const hasLosses = (results: Results): boolean => variants(results, "loss_change").labels.length > 1;

// Returns rows at the longest length: the original first; if heads are changed one at a time, then
// sorted by the decrease of the loss.
export function lossRows(results: Results): LossRow[] {
  const { dim, labels } = variants(results, "loss_change");
  const dims = results.info("loss_change")?.dims ?? [];
  const row = (cell: Cell, where: string, place: number) => (intervention: string, k: number): LossRow => {
    const at = { ...cell, [dim]: k };
    const [loss = NaN, change = NaN, kl = NaN] = NEEDS.map((name) => results.value(name, at));
    return { where, place, intervention, loss, change, error: results.stderr("loss_change", at), kl };
  };
  if (!dims.includes("layer")) return labels.map(row({}, "", 0));
  const heads = dims.includes("head") ? results.coord("head") : ["*"];
  return results
    .coord("layer")
    .flatMap((layer, i) =>
      heads.flatMap((head, j) =>
        labels.map(row({ layer: i, head: j }, `${layer}.${head}`, i * heads.length + j)).slice(1),
      ),
    )
    .sort((a, b) => (Number.isNaN(a.change) ? Infinity : a.change) - (Number.isNaN(b.change) ? Infinity : b.change));
}

export async function losses(page: Page): Promise<HTMLElement | null> {
  const { results } = page;
  if (!hasLosses(results)) return null;
  await results.need(...NEEDS);
  const all = lossRows(results);
  const oneByOne = all.some(({ where }) => where !== "");
  const rows = oneByOne ? all.slice(0, ROWS_SHOWN) : all;
  const length = results.coord("length").at(-1);
  const more = all.length - rows.length;
  const order = parseOrder(page.address.query["losses"]);
  return element(
    "section",
    { class: "losses", "aria-labelledby": "losses" },
    element("h2", { id: "losses" }, "What the interventions do to the loss"),
    element(
      "p",
      { class: "note" },
      `In nats a token, at L = ${length}. ` +
        (more > 0 ? `The ${rows.length} that lower it most of ${all.length}. ` : ""),
      metricLink("loss_change"),
    ),
    table({
      caption: "What the interventions do to the loss",
      columns: columnsOf(oneByOne, all),
      rows,
      order,
      sort: (next) => page.go(changed(page.address, { losses: formatOrder(next) }), true),
    }),
  );
}

function columnsOf(oneByOne: boolean, all: readonly LossRow[]): Column<LossRow>[] {
  const number = (
    id: "loss" | "change" | "error" | "kl",
    title: string,
    show: (row: LossRow) => string = (row) => shown(row[id]),
  ): Column<LossRow>[] =>
    all.some((row) => Number.isFinite(row[id])) ? [{ id, title, numeric: true, key: (row) => row[id], show }] : [];
  const intervention: Column<LossRow> = {
    id: "intervention", title: "Intervention", key: (row) => row.intervention, show: (row) => row.intervention,
  };
  const where: Column<LossRow> = {
    id: "where",
    title: "Head",
    key: ({ place }) => place,
    show: ({ where: name }) => (name.endsWith("*") ? name : headLink(name)),
  };
  return [
    ...(oneByOne ? [where] : []),
    intervention,
    ...number("change", "Change", ({ change }) => signed(change, 4)),
    ...number("error", "± standard error", ({ error }) => shown(error, 2)),
    ...number("loss", "Loss"),
    ...number("kl", "KL"),
  ];
}
