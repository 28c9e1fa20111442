// Draws the plans of `headgauge plan`: their cost, their savings, and the keys that each head
// keeps.
import * as Plot from "@observablehq/plot";
import type { Results } from "../data/results";
import { domainOf, type Axis } from "./axes";
import type { Figure } from "./figure";
import { csvValue, formatNumber, formatShare, slug } from "./format";
import { frame, type KeyEntry } from "./frame";
import { overHeads } from "./heads";
import { mapFigure } from "./map";
import {
  budgetsOf, changeUnit, confirmed, assignmentChanges, judgedByLoss, methodsOf, ORACLE, PLAN, RANDOM, type Confirmed,
} from "./planned";
import { bentAxis } from "./scatter";
import { themeOf, type Theme } from "./theme";

export const planFigures = (results: Results): Figure[] =>
  results.has("planned_change")
    ? [paretoFigure(results) ?? [], ...budgetsOf(results).map((_, k) => keptKeysFigure(results, k) ?? [])].flat()
    : [];

// Uses one colour scale for all budgets, so that they can be compared.
export function keptKeysFigure(results: Results, budget: number): Figure | undefined {
  if (!results.has("kept_keys")) return undefined;
  const name = budgetsOf(results)[budget] ?? "";
  const { length } = results.header.coords;
  const tokens = length?.[length.length - 1];
  const [plan] = confirmed(results, budget).filter(({ method }) => method === PLAN);
  const left = plan ? ` The plan leaves ${formatShare(plan.cache)} of the cache.` : "";
  return mapFigure(results, "kept_keys", { budget }, {
    id: `plan-kept-keys-${slug(name)}`,
    title: `Keys that each head keeps${tokens === undefined ? "" : ` after ${tokens} tokens`}, plan "${name}"`,
    caption:
      "Each cell is a head: layers downwards, heads across; heads that share keys keep the same. " +
      `Colours are on a logarithmic scale, the same for all plans; uniform attention, a running mean, counts as one key.${left}`,
    log: true,
    scaled: budgetsOf(results).flatMap((_, k) =>
      overHeads(results, "kept_keys", { budget: k }).map(({ value }) => value),
    ),
  });
}

interface Mark extends Confirmed {
  title: string;
}

interface Series {
  method: string;
  marks: Mark[];
  look: Look;
}

interface Look {
  colour: (theme: Theme) => string;
  kind: "line" | "thin" | "dashed" | "dotted";
}

const series = (k: number, kind: Look["kind"]): Look => ({
  kind, colour: (theme) => theme.series[k % theme.series.length]!,
});

// Windows of one size share a colour; random plans and the oracle have no colour of the series.
const LOOKS: Readonly<Record<string, Look>> = {
  [PLAN]: series(0, "line"),
  "equal windows": series(1, "dashed"),
  "equal windows, sinks": series(1, "thin"),
  pyramid: series(2, "thin"),
  "by layer": series(3, "thin"),
  "converge budgets": series(4, "thin"),
  [RANDOM]: { kind: "thin", colour: (theme) => theme.muted },
  [ORACLE]: { kind: "dotted", colour: (theme) => theme.text },
};

export function paretoFigure(results: Results): Figure | undefined {
  const budgets = budgetsOf(results);
  const all = budgets.flatMap((_, budget) => confirmed(results, budget));
  const methods = methodsOf(results).filter((method) => all.some((one) => one.method === method));
  const drawn = methods.map((method, k): Series => ({
    method,
    marks: all
      .filter((one) => one.method === method)
      .sort((a, b) => a.read - b.read)
      .map((one) => ({ ...one, title: wordsOf(one, budgets, changeUnit(results)) })),
    look: LOOKS[method] ?? series(k, "thin"),
  }));
  const random = budgets.flatMap((_, budget) => {
    const own = all.find((one) => one.budget === budget && one.method === PLAN);
    return own
      ? assignmentChanges(results, budget).map((change, draw) => ({ budget, read: own.cache, change, draw }))
      : [];
  });
  const byLoss = judgedByLoss(results);
  const what = byLoss ? "loss" : "output";
  const changes = [...all.flatMap(({ change, low, high }) => [change, low, high]), ...random.map(({ change }) => change)];
  const finite = changes.filter(Number.isFinite);
  const xDomain = domainOf(all.map(({ read }) => read), { room: 0.08 });
  const bent = bentAxis(`change of the ${what} on the confirming texts`, byLoss ? "nats" : "", finite);
  const yDomain = domainOf(finite, { symlog: bent.symlog, include: [0], room: 0.05 });
  if (!xDomain || !yDomain) return undefined;
  const x: Axis = { label: byLoss ? "share of the key-value cache" : "share of the keys", domain: xDomain, format: (at) => formatShare(at) };
  const y: Axis = { ...bent, domain: yDomain };
  const title = `What the plans cost: change of the ${what} against share of the ${byLoss ? "cache" : "keys"}`;
  return {
    id: "plan-loss-against-cache",
    title,
    caption: captionOf(results, all, random.length > 0),
    columns: ["method", "budget", "draw", "cache_share_drawn", "change", "change_low", "change_high"],
    rows: [
      ...drawn.flatMap(({ method, marks }) =>
        marks.map(({ budget, read, change, low, high }) => [
          method, budgets[budget]!, null, csvValue(read), csvValue(change), csvValue(low), csvValue(high),
        ]),
      ),
      ...random.map(({ budget, read, change, draw }) => [
        "random plan", budgets[budget]!, results.coord("draw")[draw]!, csvValue(read), csvValue(change), null, null,
      ]),
    ],
    draw: (options) => {
      const theme = themeOf(options.dark);
      return frame(options, {
        title,
        height: 320,
        x,
        y,
        key: keyOf(drawn, theme),
        marks: [
          Plot.ruleY([0], { stroke: theme.muted, strokeDasharray: "6 4" }),
          Plot.dot(random, { x: "read", y: "change", r: 2, fill: theme.muted, fillOpacity: 0.45 }),
          // Draws the plan on top of the others.
          ...[...drawn].reverse().flatMap((one) => seriesMarks(one, theme)),
        ],
      });
    },
  };
}

function seriesMarks({ method, marks, look }: Series, theme: Theme): Plot.Markish[] {
  const own = method === PLAN;
  const colour = look.colour(theme);
  const at = { x: "read", y: "change" };
  return [
    Plot.ruleX(marks.filter(({ low, high }) => Number.isFinite(low) && Number.isFinite(high)), {
      x: "read", y1: "low", y2: "high", stroke: colour,
      strokeWidth: own ? 2.5 : 1.25, strokeOpacity: own ? 1 : 0.6,
    }),
    Plot.line(marks, {
      ...at, stroke: colour, strokeWidth: own ? 3 : look.kind === "thin" ? 1.25 : 2,
      strokeOpacity: own ? 1 : 0.7, strokeDasharray: DASHES[look.kind] ?? "none",
    }),
    Plot.dot(marks, {
      ...at, r: own ? 5.5 : 3.5, stroke: colour, strokeWidth: 1.5,
      fill: method === ORACLE ? theme.background : colour, title: "title",
    }),
  ];
}

const DASHES: Partial<Record<Look["kind"], string>> = { dashed: "6 4", dotted: "2 3" };

const keyOf = (drawn: readonly Series[], theme: Theme): KeyEntry[] => [
  ...drawn.map(({ method, look }) => ({
    label: method === RANDOM ? "random heads, mean" : method, colour: look.colour(theme), kind: look.kind,
  })),
  { label: "full attention", colour: theme.muted, kind: "dashed" },
];

// Example: "plan, 50 %: 30.1 % of the cache, -0.06 (-0.076 to -0.044) nats".
function wordsOf(
  { method, budget, read, change, low, high }: Confirmed,
  budgets: readonly string[],
  unit: string,
): string {
  const interval = Number.isFinite(low) ? ` (${formatNumber(low, 2)} to ${formatNumber(high, 2)})` : "";
  const what = method === ORACLE ? "of the keys read" : "of the cache";
  return `${method}, ${budgets[budget]}: ${formatShare(read)} ${what}, ${formatNumber(change, 3)}${interval}${unit}`;
}

function captionOf(results: Results, all: readonly Confirmed[], random: boolean): string {
  const documents = results.coord("document").length;
  const sentences: (string | false)[] = [
    `The change of the ${judgedByLoss(results) ? "loss" : "output"} on ${documents} document${documents === 1 ? "" : "s"} that had no part in making the plans` +
      (all.some(({ low }) => Number.isFinite(low))
        ? ", with 95 % intervals (Student's t over documents)."
        : "; one shows nothing of others."),
    "The line at 0 is full attention.",
    random && "Faint dots: the plan's entries assigned to other heads at random.",
    all.some(({ method }) => method === ORACLE) &&
      "The heaviest keys, an oracle, stand at the share of the keys that a query reads, but their cache " +
        "holds all keys.",
  ];
  return sentences.filter((sentence) => sentence !== false).join(" ");
}
