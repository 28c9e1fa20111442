// Shows how the interventions of `headgauge compare` change the loss: of the whole model, or one
// head or layer at a time.
import type { MetricName } from "../catalogue/catalogue";
import type { Cell, Results } from "../data/results";
import { variants } from "../figures/critical";
import { signed } from "../figures/predictions";
import { element, section } from "./element";
import type { Page } from "./page";
import { ifAny, numberColumn, orderIn, table, textColumn, type Column } from "./table";
import { headLink, metricLink, shown } from "./words";

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
    const of = (name: MetricName) => results.value(name, at);
    const error = results.stderr("loss_change", at);
    return { where, place, intervention, loss: of("loss"), change: of("loss_change"), error, kl: of("kl") };
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
  const all = await results.gather(() => lossRows(results));
  const oneByOne = all.some(({ where }) => where !== "");
  const rows = oneByOne ? all.slice(0, ROWS_SHOWN) : all;
  const length = results.coord("length").at(-1);
  const more = all.length - rows.length;
  const title = "What the interventions do to the loss";
  return section(
    "losses",
    title,
    element(
      "p",
      { class: "note" },
      `In nats a token, at L = ${length}. ` +
        (more > 0 ? `The ${rows.length} that lower it most of ${all.length}. ` : ""),
      metricLink("loss_change"),
    ),
    table({
      caption: title, columns: columnsOf(oneByOne, all), rows, ...orderIn(page, "losses", true),
    }),
  );
}

function columnsOf(oneByOne: boolean, all: readonly LossRow[]): Column<LossRow>[] {
  const where: Column<LossRow> = {
    id: "where",
    title: "Head",
    key: ({ place }) => place,
    show: ({ where: name }) => (name.endsWith("*") ? name : headLink(name)),
  };
  return [
    ...(oneByOne ? [where] : []),
    textColumn("intervention", "Intervention", ({ intervention }) => intervention),
    ...[
      numberColumn<LossRow>("change", "Change", ({ change }) => change, ({ change }) => signed(change, 4)),
      numberColumn<LossRow>("error", "± standard error", ({ error }) => error, ({ error }) => shown(error, 2)),
      numberColumn<LossRow>("loss", "Loss", ({ loss }) => loss),
      numberColumn<LossRow>("kl", "KL", ({ kl }) => kl),
    ].flatMap((column) => ifAny(all, column)),
  ];
}
