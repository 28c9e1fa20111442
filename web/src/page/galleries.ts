// Views that show figures of the whole model, one below the other.
import type { Results } from "../data/results";
import { declaredFigures, hasFigures } from "../figures/declared";
import type { Figure } from "../figures/figure";
import { hasModelFigures, modelFigures } from "../figures/model";
import { hasPaperFigures, limitsFigures, tokensFigures } from "../figures/papers";
import { div, element } from "./element";
import type { Opened, Page, View } from "./page";
import { picture } from "./picture";
import { tableBox } from "./tables";

interface Gallery extends Omit<View, "open"> {
  heading: string;
  figures?: (results: Results) => Figure[];
  tables?: readonly string[];
}

const gallery = ({ heading, figures = () => [], tables = [], ...view }: Gallery): View => ({
  ...view,
  open: async (page: Page): Promise<Opened> => {
    const { results } = page;
    const drawn = await results.gather(() => figures(results));
    const below = tableBox(page, tables);
    return {
      node: div(
        "",
        element("h1", {}, heading),
        div("pictures", ...drawn.map((figure) => picture(page, figure, { heading: "h2" }))),
        below.node,
      ),
      update: below.update,
    };
  },
});

export const model = gallery({
  id: "model",
  title: "Model",
  heading: "The whole model",
  has: hasModelFigures,
  figures: modelFigures,
  tables: ["convergence", "cache", "scales", "balls", "hardmax"],
});

// Shows the records of a monitor, or a series of checkpoints.
export const training = gallery({
  id: "training",
  title: "Training",
  heading: "Every head over the steps",
  has: (results) => hasFigures(results, "training"),
  figures: (results) => declaredFigures(results, "training"),
});

// Shows the papers' figures: those of `headgauge reproduce`, or those that another file has data
// for.
export const papers = gallery({
  id: "papers",
  title: "Papers",
  heading: "The papers' figures on this model",
  has: hasPaperFigures,
  figures: (results) => [...limitsFigures(results), ...tokensFigures(results)],
});

// The largest changes between two runs or under interventions.
const LARGEST = "largest_changes"; // of src/view/changes.cpp
export const changes = gallery({
  id: "changes",
  title: "Changes",
  heading: "What changed",
  has: ({ tables }) => tables.some(({ name }) => name === LARGEST),
  tables: [LARGEST],
});
