// Small results files for tests: every number follows from the place it stands at.
import { resultsFromFile } from "../../src/data/embedded";
import type { Change, Label, Results } from "../../src/data/results";

export type MadeValue = (cell: Record<string, number>) => number | null;

export interface MadeMetric {
  dims: string[];
  unit?: string;
  stderr?: boolean;
  none?: number;
  change_of?: string;
  rows?: number;
  value?: MadeValue;
  low?: MadeValue;
  high?: MadeValue;
  p?: MadeValue;
}

export interface Made {
  coords: Record<string, Label[]>;
  metrics: Record<string, MadeMetric>;
  command?: string;
  changes?: Change[];
  settings?: Record<string, unknown>;
}

export function madeFile({ coords, metrics, command = "scan", changes = [], settings = {} }: Made): object {
  const nested = (dims: string[], value: MadeValue, cell: Record<string, number>): unknown => {
    const [dim, ...rest] = dims;
    if (dim === undefined) return value(cell);
    return (coords[dim] ?? []).map((_, k) => nested(rest, value, { ...cell, [dim]: k }));
  };
  return {
    schema: "headgauge.results/3",
    tool: { name: "headgauge", version: "0" },
    model: {
      name: "made", family: "gpt2",
      layers: coords["layer"]?.length ?? 1, heads: coords["head"]?.length ?? 1,
    },
    text: { names: ["text.txt"], tokens: [64] },
    command,
    settings,
    partial: false,
    layers_done: coords["layer"]?.length ?? 1,
    coords,
    flags: [],
    changes,
    notices: [],
    timings: {},
    metrics: Object.fromEntries(
      Object.entries(metrics).map(([name, { dims, unit = "1", stderr = false, rows, value = usual, low, high, p, ...attributes }]) => [
        name,
        {
          dims,
          unit,
          ...attributes,
          values: nested(dims, value, {}),
          ...(rows === undefined ? {} : { rows: nested(dims, () => rows, {}) }),
          ...(stderr ? { stderr: nested(dims, () => 0.01, {}) } : {}),
          ...Object.fromEntries(
            Object.entries({ low, high, p }).flatMap(([part, of]) => (of ? [[part, nested(dims, of, {})]] : [])),
          ),
        },
      ]),
    ),
  };
}

// Between 0 and 1, another one in each cell.
function usual(cell: Record<string, number>): number {
  let hash = 7;
  for (const index of Object.values(cell)) hash = (hash * 31 + index * 17 + 3) % 101;
  return (hash + 1) / 104;
}

export const madeResults = (made: Made): Results => resultsFromFile(madeFile(made));

// The ends of an interval as far from the value on either side.
const within = (value: MadeValue, far: number): { low: MadeValue; high: MadeValue } => {
  const end = (by: number): MadeValue => (cell) => {
    const middle = value(cell);
    return middle === null ? null : middle + by;
  };
  return { low: end(-far), high: end(far) };
};

// Results of which one metric has other values.
export const changing = (made: Made) =>
  (name: string, value: (cell: Record<string, number>, was: number | null) => number | null): Results => {
    const metric = made.metrics[name]!;
    const was = metric.value!;
    return madeResults({ ...made, metrics: { ...made.metrics, [name]: { ...metric, value: (cell) => value(cell, was(cell)) } } });
  };

const numbered = (count: number): number[] => Array.from({ length: count }, (_, k) => k);

// Metrics that are alike.
const alike = (dims: string[], names: string, more: Partial<MadeMetric> = {}): Record<string, MadeMetric> =>
  Object.fromEntries(names.split(/\s+/).map((name) => [name, { dims, ...more }]));

const BY_N = `distance distance_bound distance_bound_paper expected_distance expected_distance_context separability
  separability_with_sinks separability_null separability_lower separability_null_local separability_excess separability_sphere
  separability_model_lower separability_model_upper separability_lower_paper separability_upper_paper`;

// What a scan of so many heads writes.
export function madeScan({ layers = 2, heads = 3, lengths = [16, 32, 64], sizes = [1, 5, 20] } = {}): Made {
  const ofHeads = ["layer", "head", "length"];
  const grid = ["layer", "head", "temperature", "epsilon"];
  return {
    coords: {
      layer: numbered(layers), head: numbered(heads), length: lengths, top_n: sizes,
      position: [1, 2, 4, 8, 16, 32, 64], top_share: [0.1, 0.5], temperature: [0.01, 0.1, 1, 10],
      epsilon: [0.001, 10], forecast_length: [128, 256, 512], outcome: ["text"],
    },
    metrics: {
      ...alike(ofHeads, "entropy entropy_with_sinks entropy_normalized effective_tokens effective_tokens_with_sinks sink_weight mass_90", { stderr: true }),
      ...alike([...ofHeads, "top_n"], BY_N, { stderr: true }),
      visible_keys: {
        dims: ofHeads, unit: "keys", value: ({ length }) => (lengths[length!]! + 1) / 2,
      },
      entropy_with_sinks_by_position: { dims: ["layer", "head", "position"], unit: "nats", stderr: true },
      effective_tokens_with_sinks_by_position: {
        dims: ["layer", "head", "position"], unit: "keys", stderr: true,
        value: ({ position }) => 1 + position!,
      },
      entropy_slope_with_sinks: { dims: ["layer", "head"], stderr: true },
      effective_tokens_forecast_with_sinks: {
        dims: ["layer", "head", "forecast_length"], unit: "keys",
        value: ({ forecast_length }) => 20 + forecast_length!,
        low: ({ forecast_length }) => 10 + forecast_length!,
        high: ({ forecast_length }) => 40 + forecast_length!,
      },
      sensitivity: { dims: grid, stderr: true },
      sensitivity_bound: { dims: grid, value: () => 2 },
      sensitivity_bound_paper: { dims: grid, value: () => 1.4 },
      sensitivity_max: { dims: ["temperature", "epsilon"] },
      critical_n: { dims: ["length"], unit: "keys", none: -1, value: ({ length }) => (length === 0 ? -1 : 4) },
      closest_n: {
        dims: ["length"], unit: "keys", value: ({ length }) => 3 + length!,
        low: ({ length }) => 2 + length!, high: ({ length }) => 5 + length!,
      },
      critical_n_paper: { dims: ["length"], unit: "keys", none: -1, value: () => 2 },
      margin_at_share_by_position: {
        dims: ["layer", "head", "position", "top_share"],
        value: ({ head, position, top_share }) => 1 + head! + position! + top_share!,
      },
      separability_excess_at_share_by_position: { dims: ["layer", "head", "position", "top_share"] },
      critical_fraction: { dims: ["length"], value: ({ length }) => (length === 0 ? null : 0.1) },
      critical_n_head: {
        dims: ["layer", "head", "length"], unit: "keys", none: -1, value: ({ head }) => (head === 0 ? -1 : 9),
      },
      loss: { dims: ["outcome", "length"], unit: "nats", stderr: true },
      union_coverage: { dims: ["layer", "length", "top_n"], stderr: true },
    },
  };
}

export function madeConverge(): Made {
  const heads = ["layer", "head"];
  const scan = madeScan({ layers: 4, heads: 5 });
  return {
    command: "converge",
    coords: {
      ...scan.coords, tokens: [8, 16, 32, 64], tolerance: [0.01, 0.05],
      sampler: ["uniform", "recent", "top"], cache: ["full", "budget"],
    },
    metrics: {
      ...scan.metrics,
      ...alike(heads, "horizon rate_predicted"),
      ...alike(heads, "rate_mean rate_covariance", { stderr: true }),
      ...alike([...heads, "tokens"], "error_mean error_covariance", { stderr: true }),
      tokens_for_error: {
        dims: [...heads, "tolerance", "sampler"], unit: "tokens", value: ({ sampler }) => 10 + sampler!,
      },
      cache_bytes_by_layer: {
        dims: ["layer", "cache"], unit: "bytes", value: ({ cache }) => (cache === 0 ? 768 : 300),
      },
      cache_bytes: { dims: ["cache"], unit: "bytes", value: ({ cache }) => (cache === 0 ? 3072 : 1200) },
    },
  };
}

export function madeSynthetic(prefix = ""): Made {
  const of = (metrics: Record<string, MadeMetric>) =>
    Object.fromEntries(
      Object.entries(metrics).map(([name, metric]) => [
        prefix + name, { ...metric, dims: metric.dims.map((dim) => prefix + dim) },
      ]),
    );
  return {
    command: prefix ? "reproduce" : "converge",
    coords: {
      [`${prefix}scale`]: [0.1, 1, 10], [`${prefix}tokens`]: [100, 200, 400], [`${prefix}radius`]: [1, 2],
    },
    metrics: of({
      horizon: { dims: ["scale"] },
      ...alike(["scale"], "rate_mean rate_covariance", { stderr: true }),
      ...alike(["scale", "tokens"], "error_mean error_covariance", { stderr: true }),
      uniform_error: { dims: ["tokens", "radius"], stderr: true },
      uniform_constant_predicted: { dims: ["radius"], value: () => 3 },
      hardmax_error: { dims: ["tokens"], stderr: true },
      hardmax_error_predicted: { dims: ["tokens"] },
    }),
  };
}

// The heads of eight layers at three steps, and what has no step.
export const madeSteps = (): Made => ({
  command: "series",
  coords: { layer: numbered(8), head: [0, 1], step: [0.5, 100, 2000000] },
  metrics: {
    entropy: { dims: ["layer", "head", "step"], unit: "nats", stderr: true },
    series_change: { dims: ["layer", "head"], unit: "nats" },
  },
});

export const madeRandomKeys = (): Made => ({
  command: "reproduce tokens",
  coords: {
    layer: [0, 1], head: [0, 1, 2], all_heads_window: [1, 32], all_heads_random: [4, 8, 16], all_heads_length: [32, 64],
  },
  metrics: {
    all_heads_kl: {
      dims: ["all_heads_window", "all_heads_random", "all_heads_length"],
      // Above 0 in the second half, too.
      value: ({ all_heads_window, all_heads_random, all_heads_length }) =>
        0.5 + 0.1 * all_heads_length! - 0.05 * all_heads_random! + 0.2 * all_heads_window!,
    },
    each_head_kl: { dims: ["layer", "head"], stderr: true },
    model_error_constant: { dims: ["layer", "head"] },
  },
});

export const madePieces = (): Made => ({
  command: "reproduce limits",
  coords: { piece: [0, 1, 2] },
  metrics: {
    ...alike(["piece"], "entropy_fall separability_fall"),
    loss_first_half: { dims: ["piece"], value: () => 4 },
    loss_second_half: { dims: ["piece"], value: ({ piece }) => 4 + piece! },
  },
});

export function madeDiff(): Made {
  return {
    command: "diff",
    coords: { layer: [0, 1], head: [0, 1, 2], run: ["old", "new"], length: [16, 64] },
    metrics: {
      entropy_normalized: { dims: ["layer", "head", "run", "length"], stderr: true },
      entropy_normalized_change: {
        dims: ["layer", "head", "length"], stderr: true, change_of: "entropy_normalized",
        value: ({ head }) => (head === 1 ? 0.3 : 0.001),
      },
    },
    changes: [
      { metric: "loss", labels: { length: "32" } },
      { metric: "entropy_normalized", labels: { layer: "1", head: "1", length: "16" } },
    ],
  };
}

// Results of validate have 12 heads on three texts. Under the first intervention two metrics and a flag predict.
export const PREDICTORS = [
  "layer", "entropy", "tokens_for_error sampler=top", "critical_n_head", "constant", "flag sink",
  "flag wide",
];

export function madeValidate(texts = ["a.txt", "b.txt", "c.txt"]): Made {
  const pair = ["predictor", "intervention"];
  const judged = [...pair, "outcome"];
  const correlations = [[0.1, 0.2], [-0.75, 0.25], [0.625, 0.25], [0.5, -0.625], [null, null], [null, null], [0.375, 0.125]];
  const rho = ({ predictor, intervention }: Record<string, number>) =>
    correlations[predictor!]![intervention!] ?? null;
  return {
    command: "validate",
    coords: {
      layer: [0, 1, 2], head: [0, 1, 2, 3], length: [64], text: texts, predictor: PREDICTORS,
      intervention: ["topk:k=16", "softmax:t=2"], outcome: ["text"],
    },
    settings: { level: 0.1 },
    metrics: {
      validated_loss_change: {
        dims: ["layer", "head", "intervention", "text"], unit: "nats", stderr: true,
        value: ({ layer, head, intervention, text }) =>
          intervention === 1 ? 0.001 * (layer! - head!) : (layer! * 4 + head! - 3) * 0.01 * (text! + 1),
      },
      predictor_value: {
        dims: ["layer", "head", "predictor", "text"],
        value: ({ layer, head, predictor, text }) =>
          [
            layer!, 1 - 0.05 * (layer! * 4 + head!) + 0.001 * text!, head! + text!,
            head === 3 ? null : 4 + layer!, 1, 0, head === 0 ? 1 : 0,
          ][predictor!]!,
      },
      rank_correlation: {
        dims: judged, value: rho, rows: 12, ...within(rho, 0.125),
        p: ({ predictor }) => (predictor === 4 || predictor === 5 ? null : 0.0625),
      },
      predicts: {
        dims: judged,
        value: ({ predictor, intervention }) => (intervention === 0 && [1, 3, 6].includes(predictor!) ? 1 : 0),
      },
    },
  };
}

// Of plan: 2 x 3 heads, two budgets of which the one that was asked for stands first. Of four methods one
// made no plan of the second size.
export const METHODS = ["plan", "equal windows, sinks", "by layer", "random heads", "heaviest keys"];

export function madePlan(): Made {
  const cells = ["method", "budget"];
  const judged = [...cells, "outcome"];
  const change = ({ method, budget }: Record<string, number>) =>
    method === 2 && budget === 1 ? null : [-0.0625, 0.25, 0.125, 0.1875, 0.3125][method!]! * (budget! + 1);
  return {
    command: "plan",
    coords: {
      layer: [0, 1], head: [0, 1, 2], length: [2048], budget: ["50 %", "25 %"], method: METHODS,
      document: [0, 1, 2], draw: [0, 1, 2, 3], outcome: ["text"],
    },
    metrics: {
      kept_keys: {
        dims: ["layer", "head", "budget"], unit: "keys",
        value: ({ layer, head, budget }) => (budget === 1 ? 32 : layer === 1 && head === 2 ? 2048 : 512 * (head! + 1)),
      },
      planned_cache_share: {
        dims: cells,
        value: ({ method, budget }) =>
          method === 4 ? 1 : method === 2 && budget === 1 ? null : [0.4375, 0.5, 0.375, 0.4375][method!]! / (budget! + 1),
      },
      planned_change: { dims: judged, unit: "nats", stderr: true, value: change, ...within(change, 0.03125) },
      random_change: {
        dims: ["budget", "draw"], unit: "nats", stderr: true,
        value: ({ budget, draw }) => (budget === 0 ? 0.125 * (draw! + 0.5) : -0.25 + 0.125 * draw!),
      },
      random_plans_p: { dims: ["budget"], value: ({ budget }) => (budget === 0 ? 0.2 : 0.6) },
    },
  };
}

// The same, judged by a replay and by two tasks, too. The model does not do the first task. The replay of
// the oracle is undefined for the second size, and the mean over random heads has no interval.
export function madeJudgedPlan(): Made {
  const made = madePlan();
  const outcomes = ["text", "replay", "keys", "passkey 8"];
  const replay: MadeValue = ({ method, budget }) =>
    method === 4 && budget === 1 ? null : [0.25, 1, 0.5, 1.5, 0.125][method!]! * (budget! + 1);
  const answers: MadeValue = ({ method, budget }) => 16 + method! + budget!;
  const change = made.metrics["planned_change"] as Required<MadeMetric>;
  // What is judged by an outcome; the text as it was, and nothing of the task that is not done.
  const by = (text: MadeValue, ofReplay: MadeValue, ofAnswers: MadeValue): MadeValue => (cell) =>
    [text, ofReplay, () => null, ofAnswers][cell["outcome"]!]!(cell);
  const kept = (shares: (number | null)[]): MadeValue => ({ method, budget, outcome }) => {
    const share = shares[method!]!;
    return outcomes[outcome!] !== "passkey 8" || share === null ? null : share / (method === 0 ? 1 : budget! + 1);
  };
  const [ofReplay, ofAnswers] = [within(replay, 0.5), within(answers, 2)];
  return {
    ...made,
    coords: { ...made.coords, outcome: outcomes },
    metrics: {
      ...made.metrics,
      planned_change: {
        ...change,
        value: by(change.value, replay, answers),
        low: by(change.low, ofReplay.low, ofAnswers.low),
        high: by(change.high, ofReplay.high, ofAnswers.high),
      },
      does_task: { dims: ["outcome"], value: ({ outcome }) => [null, null, 0, 1][outcome!]! },
      planned_answers_kept: {
        dims: ["method", "budget", "outcome"],
        value: kept([1, 0.5, 0.75, 0.25, 0.875]),
        low: kept([0.75, 0.25, 0.5, null, 0.5]),
        high: kept([1, 1, 0.875, null, 1]),
      },
    },
  };
}

export function madeCompare(dim: "normalizer" | "pattern"): Made {
  const scan = madeScan();
  return {
    command: "compare",
    coords: { ...scan.coords, [dim]: ["original", "one", "two"] },
    metrics: {
      ...alike(["layer", "head", dim, "length"], "entropy_normalized kept_mass", { stderr: true }),
      separability: { dims: ["layer", "head", dim, "length", "top_n"], stderr: true },
      loss: { dims: [dim, "outcome", "length"], unit: "nats", stderr: true },
      loss_change: {
        dims: [dim, "outcome", "length"], unit: "nats", stderr: true, change_of: "loss",
        value: ({ [dim]: intervention }) => (intervention === 0 ? 0 : 0.25 * intervention!),
      },
      critical_n: { dims: [dim, "length"], unit: "keys", none: -1, value: ({ [dim]: intervention }) => (intervention === 1 ? -1 : 5) },
    },
  };
}

// What smaller caches cost, on the text and in the answers of a task.
export function madeCaches(): Made {
  const compared = madeCompare("pattern");
  return {
    command: "compare",
    coords: { ...compared.coords, outcome: ["text", "passkey"], served: [4096] },
    metrics: {
      ...compared.metrics,
      loss_change_lost_keys: { dims: ["pattern", "length"], unit: "nats", stderr: true },
      served_cache_share: { dims: ["pattern", "served"], unit: "1", value: ({ pattern }) => 1 / (1 + pattern!) },
      does_task: { dims: ["outcome"], value: ({ outcome }) => [null, 1][outcome!]! },
      answers_kept: {
        dims: ["pattern", "outcome"], value: ({ outcome }) => [null, 0.75][outcome!]!,
        low: ({ outcome }) => [null, 0.5][outcome!]!, high: ({ outcome }) => [null, 1][outcome!]!,
      },
    },
  };
}
