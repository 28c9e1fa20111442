// The largest changes between two runs or under interventions.
import { LARGEST_CHANGES } from "../data/results";
import { div, element } from "./element";
import type { View } from "./page";
import { tableBox } from "./tables";

export const changes: View = {
  id: "changes",
  title: "Changes",
  has: ({ tables }) => tables.some(({ name }) => name === LARGEST_CHANGES),
  open: (page) => {
    const { node, update } = tableBox(page, [LARGEST_CHANGES]);
    return { node: div("", element("h1", {}, "What changed"), node), update };
  },
};
