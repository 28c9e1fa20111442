// Draws the plans of `headgauge plan`: what they cost against what they save, and the keys that each
// head keeps.
import * as Plot from "@observablehq/plot";
import type { Results, WithInterval } from "../data/results";
import { domainOf, type Axis } from "./axes";
import type { Figure } from "./figure";
import { csvValue, formatNumber, formatShare, formatTick, slug } from "./format";
import { frame, type KeyEntry } from "./frame";
import { overHeads } from "./heads";
import { mapFigure } from "./map";
import {
  budgetsOf, confirmed, assignmentChanges, judgedByReplay, judgedTasks, methodsOf, ORACLE, PLAN,
  RANDOM, type Confirmed, type Task,
} from "./planned";
import { bentAxis, pairText } from "./scatter";
import { themeOf, type Theme } from "./theme";

export const planFigures = (results: Results): Figure[] =>
  results.has("planned_change")
    ? [...paretoFigures(results), ...budgetsOf(results).flatMap((_, k) => keptKeysFigure(results, k) ?? [])]
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

// A quantity that judges plans, drawn against the cache.
interface Quantity {
  id: string;
  title: string;
  column: string; // its name in the data
  of: (one: Confirmed) => WithInterval;
  ofRandom?: (budget: number) => number[]; // its values for the assignments to random heads
  words: (of: WithInterval) => string;
  axis: (values: readonly number[]) => Axis | undefined;
  full: number; // its value for full attention
  caption: (intervals: boolean) => string;
}

interface Mark extends WithInterval {
  budget: number;
  read: number;
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

// Random plans and the oracle have no colour of the series.
const LOOKS: Readonly<Record<string, Look>> = {
  [PLAN]: series(0, "line"),
  "equal windows, sinks": series(1, "thin"),
  "by layer": series(3, "thin"),
  [RANDOM]: { kind: "thin", colour: (theme) => theme.muted },
  [ORACLE]: { kind: "dotted", colour: (theme) => theme.text },
};

// Returns a figure for each quantity that judges the plans: the loss, the replay, the answers of
// each task.
export function paretoFigures(results: Results): Figure[] {
  const rows = budgetsOf(results).flatMap((_, budget) => confirmed(results, budget));
  return [
    lossQuantity(results),
    ...(judgedByReplay(results) ? [replayQuantity(results)] : []),
    ...judgedTasks(results).map(answersQuantity),
  ].flatMap((quantity) => paretoFigure(results, rows, quantity) ?? []);
}

const lossQuantity = (results: Results): Quantity => ({
  ...changeQuantity(results, "loss"),
  id: "plan-loss-against-cache",
  title: "What the plans cost: change of the loss against share of the cache",
  column: "change",
  of: ({ change }) => change,
  ofRandom: (budget) => assignmentChanges(results, budget),
});

function replayQuantity(results: Results): Quantity {
  const change = changeQuantity(results, "loss of the replay");
  return {
    ...change,
    id: "plan-replay-against-cache",
    title: "What the plans cost: change of the replay against share of the cache",
    column: "replay_change",
    of: ({ replay }) => replay,
    caption: (intervals) =>
      `${change.caption(intervals)} The replay: the last tokens of each document repeat its first.`,
  };
}

function changeQuantity(
  results: Results, what: string,
): Pick<Quantity, "words" | "axis" | "full" | "caption"> {
  const documents = results.coord("document").length;
  return {
    words: ({ value, low, high }) => `${formatNumber(value, 3)}${pairText(low, high)} nats`,
    axis: (values) => {
      const bent = bentAxis(`change of the ${what} on the confirming texts`, "nats", values);
      const domain = domainOf(values, { symlog: bent.symlog, include: [0], room: 0.05 });
      return domain && { ...bent, domain };
    },
    full: 0,
    caption: (intervals) =>
      `The change of the ${what} on ${documents} document${documents === 1 ? "" : "s"} that had no part in making the plans` +
      (intervals
        ? ", with 95 % intervals (Student's t over documents)."
        : "; one shows nothing of others."),
  };
}

const answersQuantity = ({ name, place }: Task): Quantity => ({
  id: `plan-answers-against-cache-${slug(name)}`,
  title: `What the plans keep: right answers of ${name} against share of the cache`,
  column: "answers_kept",
  of: ({ kept }) => kept[place]!,
  words: ({ value, low, high }) => {
    const interval = Number.isFinite(low) ? ` (${formatShare(low, 2)} to ${formatShare(high, 2)})` : "";
    return `${formatShare(value)}${interval} of the right answers`;
  },
  axis: () => ({
    label: `right answers of ${name} that stay right`, domain: [0, 1], format: (at) => formatShare(at),
  }),
  full: 1,
  caption: (intervals) =>
    `The share of the answers of ${name} that the model gets right and that stay right under each plan` +
    (intervals ? ", with 95 % intervals (Clopper and Pearson, over cases)." : "."),
});

function paretoFigure(
  results: Results, rows: readonly Confirmed[], quantity: Quantity,
): Figure | undefined {
  const { id, title, of, ofRandom, words, full } = quantity;
  const budgets = budgetsOf(results);
  const all = rows.filter((one) => Number.isFinite(of(one).value));
  const methods = methodsOf(results).filter((method) => all.some((one) => one.method === method));
  const drawn = methods.map((method, k): Series => ({
    method,
    marks: all
      .filter((one) => one.method === method)
      .sort((a, b) => a.read - b.read)
      .map((one) => ({
        ...of(one), budget: one.budget, read: one.read, title: `${placeOf(one, budgets)}, ${words(of(one))}`,
      })),
    look: LOOKS[method] ?? series(k, "thin"),
  }));
  const random = budgets.flatMap((_, budget) => {
    const own = all.find((one) => one.budget === budget && one.method === PLAN);
    return own && ofRandom
      ? ofRandom(budget).map((value, draw) => ({ budget, read: own.cache, value, draw }))
      : [];
  });
  const values = all.map(of).flatMap(({ value, low, high }) => [value, low, high]);
  const y = quantity.axis([...values, ...random.map(({ value }) => value)].filter(Number.isFinite));
  const xDomain = domainOf(all.map(({ read }) => read), { room: 0.08 });
  if (!xDomain || !y) return undefined;
  const x: Axis = {
    label: "share of the key-value cache",
    domain: xDomain,
    format: (at) => formatShare(at),
  };
  const rowOf = (
    method: string, draw: string | number | null, { budget, read, value, low, high }: Omit<Mark, "title">,
  ) => [
    method, budgets[budget]!, ...(ofRandom ? [draw] : []), csvValue(read),
    csvValue(value), csvValue(low), csvValue(high),
  ];
  const { column } = quantity;
  return {
    id,
    title,
    caption: captionOf(quantity, y, all, random.length > 0),
    columns: [
      "method", "budget", ...(ofRandom ? ["draw"] : []), "cache_share_drawn", column, `${column}_low`, `${column}_high`,
    ],
    rows: [
      ...drawn.flatMap(({ method, marks }) => marks.map((mark) => rowOf(method, null, mark))),
      ...random.map((one) =>
        rowOf("random plan", results.coord("draw")[one.draw]!, { ...one, low: NaN, high: NaN }),
      ),
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
          Plot.ruleY([full], { stroke: theme.muted, strokeDasharray: "6 4" }),
          Plot.dot(random, { x: "read", y: "value", r: 2, fill: theme.muted, fillOpacity: 0.45 }),
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
  const at = { x: "read", y: "value" };
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

// Example: "plan, 50 %: 30.1 % of the cache".
const placeOf = ({ method, budget, read }: Confirmed, budgets: readonly string[]): string =>
  `${method}, ${budgets[budget]}: ${formatShare(read)} ${method === ORACLE ? "of the keys read" : "of the cache"}`;

function captionOf(
  { of, full, caption }: Quantity, y: Axis, all: readonly Confirmed[], random: boolean,
): string {
  const sentences: (string | false)[] = [
    caption(all.some((one) => Number.isFinite(of(one).low))),
    `The line at ${(y.format ?? formatTick)(full)} is full attention.`,
    random && "Faint dots: the plan's entries assigned to other heads at random.",
    all.some(({ method }) => method === ORACLE) &&
      "The heaviest keys, an oracle, stand at the share of the keys that a query reads, but their cache " +
        "holds all keys.",
  ];
  return sentences.filter((sentence) => sentence !== false).join(" ");
}
