import { expect, test } from "vitest";
import { unfinished } from "../../src/page/shell";
import { smallResults } from "./page-results";

test("partial results say how far the run came", () => {
  const { header } = smallResults();
  expect(unfinished({ ...header, layers_done: 1 })).toBe("Partial results: the run was interrupted after 1 of 2 layers.");
  // A comparison whose original was measured in all layers.
  expect(unfinished({ ...header, layers_done: 2 })).toBe("Partial results: the run was interrupted.");
});
