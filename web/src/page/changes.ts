// The largest changes between two runs or under interventions.
import { div, element } from "./element";
import type { View } from "./page";
import { tableBox } from "./tables";

const TABLE = "largest_changes"; // of src/view/changes.cpp

export const changes: View = {
  id: "changes",
  title: "Changes",
  has: ({ tables }) => tables.some(({ name }) => name === TABLE),
  open: (page) => {
    const { node, update } = tableBox(page, [TABLE]);
    return { node: div("", element("h1", {}, "What changed"), node), update };
  },
};
