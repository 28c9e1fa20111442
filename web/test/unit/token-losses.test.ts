// The tokens whose loss changes most, as rows of a table.
import { describe, expect, it } from "vitest";
import { tokenRows } from "../../src/page/token_losses";

describe("tokens", () => {
  it("stand in the order of the size of their change, those without one left out", () => {
    const tokens = [
      { document: 0, position: 4, losses: [3, 3.5, null] },
      { document: 0, position: 9, losses: [3, 1, 2] },
      { document: 2, position: 7, losses: [null, 1, 2], task: "keys" },
    ];
    expect(tokenRows(tokens, 1).map(({ position, change }) => [position, change])).toEqual([[9, -2], [4, 0.5]]);
    expect(tokenRows(tokens, 2).map(({ position }) => position)).toEqual([9]);
  });
});
