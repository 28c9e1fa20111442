// Heads over steps: what a series of checkpoints says, and what the records of a monitor say.
import { expect, test } from "vitest";
import { trainingFigures, trainingHeading, trainingOfHead } from "../../src/figures/training";
import { flagsTitle } from "../../src/page/flags";
import { captionOf } from "../../src/page/heads";
import { madeResults, madeScan } from "./made";

const ofSteps = (command: string) =>
  madeResults({
    command,
    coords: { layer: [0, 1], head: [0, 1], step: [0.5, 100, 2000000] },
    metrics: {
      entropy: { dims: ["layer", "head", "step"], unit: "nats", stderr: true },
      series_change: { dims: ["layer", "head"], unit: "nats" },
    },
  });

test("a series is drawn over the steps, and its bands are explained", () => {
  const series = ofSteps("series");
  expect(trainingHeading(series)).toBe("Every head over the steps");
  const [figure, ...others] = trainingFigures(series);
  expect(others).toEqual([]);
  expect(figure!.title).toBe("Entropy over the steps");
  expect(figure!.caption).toContain("two standard errors");
  expect(figure!.rows.map(([step]) => step)).toEqual([0.5, 100, 2000000]);
  expect(trainingOfHead(series, { layer: 1, head: 0 })[0]!.title).toBe("Entropy over the steps: layer 1, head 0");
});

test("records of a monitor are drawn while the model trains", () => {
  const monitor = ofSteps("monitor");
  expect(trainingHeading(monitor)).toBe("Every head while the model trains");
  expect(trainingFigures(monitor)[0]!.title).toBe("Entropy while the model trains");
  expect(trainingFigures(monitor)[0]!.caption).not.toContain("standard errors");
});

test("values and flags of a series are those of the last step", () => {
  expect(captionOf(ofSteps("series"))).toBe("Values of each head at the last step");
  expect(flagsTitle(ofSteps("series"))).toBe("Flags at the last step");
  expect(captionOf(madeResults(madeScan()))).toBe("Values of each head at the longest length");
  expect(flagsTitle(madeResults(madeScan()))).toBe("Flags");
});
