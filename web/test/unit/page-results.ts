// A small results file for the tests of the page's logic: 2 layers x 3 heads.
import { resultsFromFile } from "../../src/data/embedded";
import type { Results } from "../../src/data/results";

const flag = (name: string, layer: number, head: number, value: number, threshold: number) => ({
  name, layer, head, length: 64, value, threshold, source: "s", advice: "a",
});

export const smallFile = (): Record<string, unknown> => ({
  schema: "headgauge.results/3",
  tool: { name: "headgauge", version: "0" },
  model: { name: "small", family: "gpt2", layers: 2, heads: 3 },
  text: {},
  command: "scan",
  settings: {},
  partial: false,
  layers_done: 2,
  coords: { layer: [0, 2], head: [0, 1, 5], length: [32, 64], top_n: [1, 20, 100], outcome: ["text"] },
  metrics: {
    surprise: { dims: ["layer", "head"], unit: "1", values: [[1, 2, 3], [4, null, 6]] },
    entropy: {
      dims: ["layer", "head", "length"],
      unit: "nats",
      values: [[[1, 2], [3, 4], [5, 6]], [[7, 8], [9, 10], [11, null]]],
      rows: [[[32, 64], [32, 64], [32, 64]], [[32, 64], [32, 64], [32, 0]]],
    },
    separability: { dims: ["length", "top_n"], unit: "1", values: [[1, 2, 3], [4, 5, 6]] },
    loss: { dims: ["outcome", "length"], unit: "nats", values: [[3, 2]] },
  },
  flags: [flag("sink", 2, 5, 0.5, 0.3), flag("wide", 0, 1, 0.2, 0.06), flag("sink", 0, 1, 0.4, 0.3)],
  notices: [],
  timings: {},
});

export const smallResults = (): Results => resultsFromFile(smallFile());
