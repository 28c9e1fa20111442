// Views that show figures of the whole model, one below the other.
import type { Results } from "../data/results";
import type { Figure } from "../figures/figure";
import { hasModelFigures, modelFigures } from "../figures/model";
import { hasPaperFigures, limitsFigures, tokensFigures } from "../figures/papers";
import { trainingFigures, trainingHeading, trainingNeeds } from "../figures/training";
import { element } from "./element";
import type { Opened, Page, View } from "./page";
import { picture } from "./picture";

interface Gallery {
  id: string;
  title: string;
  heading(results: Results): string;
  has(results: Results): boolean;
  figures(results: Results): Figure[];
}

function gallery({ id, title, heading, has, figures }: Gallery): View {
  return {
    id,
    title,
    has,
    open: async (page: Page): Promise<Opened> => {
      const { results } = page;
      const drawn = await results.gather(() => figures(results));
      return {
        node: element(
          "div",
          {},
          element("h1", {}, heading(results)),
          drawn.length === 0
            ? element("p", { class: "note" }, "These results have nothing to draw here.")
            : element(
                "div",
                { class: "pictures" },
                ...drawn.map((figure) => picture(page, figure, { heading: "h2" })),
              ),
        ),
      };
    },
  };
}

export const model = gallery({
  id: "model",
  title: "Model",
  heading: () => "The whole model",
  has: hasModelFigures,
  figures: modelFigures,
});

// Shows the records of a monitor, or a series of checkpoints.
export const training = gallery({
  id: "training",
  title: "Training",
  heading: trainingHeading,
  has: (results) => trainingNeeds(results).length > 0,
  figures: trainingFigures,
});

// Shows the papers' figures: those of `headgauge reproduce`, or those that another file has data
// for.
export const papers = gallery({
  id: "papers",
  title: "Papers",
  heading: () => "The papers' figures on this model",
  has: hasPaperFigures,
  figures: (results) => [...limitsFigures(results), ...tokensFigures(results)],
});
