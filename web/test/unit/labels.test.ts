import { expect, it } from "vitest";
import { textWidth } from "../../src/figures/frame";
import { placeNames } from "../../src/figures/labels";
import { modelFigures } from "../../src/figures/model";
import { madeCompare, madeResults } from "./made";
import { drawn } from "./svg";

const ROOM = { left: 40, right: 440, top: 0, bottom: 300 };

it("names of points that crowd lie beside each other, in the room, and away from other points", () => {
  const points = Array.from({ length: 9 }, (_, k) => ({ label: `softmax:t=0.${k}`, x: 400 + 3 * (k % 4), y: 270 + 2 * k }));
  const boxes = placeNames(points, ROOM);
  boxes.forEach((box, k) => {
    expect(box.right - box.left).toBeCloseTo(textWidth(points[k]!.label), 9);
    expect(box.left >= ROOM.left && box.right <= ROOM.right && box.top >= ROOM.top && box.bottom <= ROOM.bottom).toBe(true);
    for (const other of boxes.slice(k + 1)) {
      expect(box.right <= other.left || other.right <= box.left || box.bottom <= other.top || other.bottom <= box.top).toBe(true);
    }
    for (const { x, y } of points) expect(x > box.left && x < box.right && y > box.top && y < box.bottom).toBe(false);
  });
  expect(placeNames([{ label: "one", x: 100, y: 100 }], ROOM)[0]).toMatchObject({ left: 107, bottom: 96 });
});

it("every intervention is named in the plot of the losses", () => {
  const figure = modelFigures(madeResults(madeCompare("normalizer"))).find(({ id }) => id === "normalizers")!;
  for (const name of ["original", "one", "two"]) expect(drawn(figure, 340).text).toContain(`>${name}</text>`);
});
