// Metrics that come one at a time, as a page unpacks them.
import { describe, expect, it } from "vitest";
import { fromFile } from "../../src/catalogue/catalogue";
import { resultsFromOverview } from "../../src/data/embedded";
import type { RawNumbers } from "../../src/data/results";

const METRICS = [
  { name: "loss", dims: ["outcome", "length"], unit: "nats", element: "a" },
  { name: "model_rate", dims: ["model_tokens"], unit: "1", element: "b" },
];
const NUMBERS: Readonly<Record<string, RawNumbers>> = {
  a: { values: [[3, 2]] },
  b: { values: [0.5, null] },
};

function lazily(asked: string[], load = async (element: string) => NUMBERS[element]!) {
  const header = { schema: "headgauge.results/3", settings: {}, coords: { outcome: ["text"], length: [1, 2], model_tokens: [4, 8] } };
  return resultsFromOverview(JSON.stringify({ header, metrics: METRICS }), (element) => {
    asked.push(element);
    return load(element);
  });
}

describe("gather", () => {
  it("loads what is asked for, once, parts of a file included", async () => {
    const asked: string[] = [];
    const results = lazily(asked);
    expect(() => results.value("loss", { length: 0 })).toThrow("not loaded");
    const sum = () => results.value("loss", { length: 1 }) + results.part("model")!.value(fromFile("rate"), { tokens: 0 });
    expect(await results.gather(sum)).toBe(2.5);
    expect(await results.gather(sum)).toBe(2.5);
    expect(asked).toEqual(["a", "a", "b"]); // the first outside gather()
    expect(results.metric(fromFile("unheard_of"))).toBeUndefined();
  });

  it("lets other errors through", async () => {
    const results = lazily([]);
    await expect(results.gather(() => { throw new Error("mine"); })).rejects.toThrow("mine");
    const broken = lazily([], async () => ({ values: [1, 2, 3] }));
    await expect(broken.gather(() => broken.value("loss", {}))).rejects.toThrow("expected 2 values");
  });
});
