// Curves that no metric has: what a paper says of the values, and what was fitted to them.

export interface LawInput {
  places: readonly number[]; // along the figure's dim
  keys: readonly number[]; // that a query there sees
  of: readonly number[]; // the values of a metric
  by: number;
}

// Falls as n^-by.
const power = (places: readonly number[], by: number, constant: number): number[] =>
  places.map((n) => constant * n ** -by);

export const LAWS: Readonly<Record<string, (given: LawInput) => readonly number[]>> = {
  same: ({ places }) => places,
  keys: ({ keys }) => keys,
  log_keys: ({ keys }) => keys.map(Math.log),
  share: ({ places, by }) => places.map((place) => by * place),
  // C / sqrt(n) of a constant C.
  root: ({ places, by }) => power(places, 0.5, by),
  // Through the middle of the points.
  power: ({ places, of, by }) => {
    const logs = of.map((value, k) => Math.log(value) + by * Math.log(places[k]!)).filter(Number.isFinite);
    return power(places, by, Math.exp(logs.reduce((sum, value) => sum + value, 0) / logs.length));
  },
  power_from_first: ({ places, of, by }) => power(places, by, of[0]! * places[0]! ** by),
  // Through the last point, over the four octaves of the slope.
  slope: ({ places, keys, of, by }) => {
    const last = of.map(Number.isFinite).lastIndexOf(true);
    const start = Math.log(places[last]!) - Math.log(8) - 0.2;
    return places.map((place, k) =>
      k <= last && Math.log(place) >= start ? of[last]! + by * Math.log(keys[k]! / keys[last]!) : NaN,
    );
  },
  // The rate of the papers' upper bound, by horizon.
  rate_of_horizon: ({ places }) => places.map((horizon) => 1 / (2 * (1 + horizon * horizon))),
};
