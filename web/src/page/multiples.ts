// One metric of all heads, each in a small panel.
import type { MetricName } from "../catalogue/catalogue";
import type { Results } from "../data/results";
import { dimOfMultiples, multiplesFigure } from "../figures/multiples";
import { chosenCell, isPerHead } from "./cells";
import { element, fill } from "./element";
import type { Opened, Page, View } from "./page";
import { picture } from "./picture";
import { dimChoices, metricChoice } from "./selection";

const FIRST: readonly MetricName[] = ["entropy_normalized_by_position", "entropy_by_position", "entropy", "error_mean"];

export const multiples: View = {
  id: "multiples",
  title: "Multiples",
  has: (results) => drawable(results).length > 0,
  open,
};

function drawable(results: Results): MetricName[] {
  return results
    .names()
    .filter((name) => isPerHead(results, name) && dimOfMultiples(results, name) !== undefined);
}

function open(page: Page): Opened {
  const { results } = page;
  const names = drawable(results);
  const controls = element("div", { class: "controls" });
  const place = element("div");
  const update = async () => {
    const asked = page.address.query["metric"];
    const metric =
      names.find((name) => name === asked) ??
      FIRST.find((name) => names.includes(name)) ??
      names[0]!;
    await results.need(metric);
    const dim = dimOfMultiples(results, metric)!;
    const focused = document.activeElement?.id;
    fill(controls, metricChoice(page, names, metric), dimChoices(page, metric, [dim]));
    fill(
      place,
      picture(
        page,
        multiplesFigure(results, metric, chosenCell(results, metric, page.address.query), dim),
        { heading: "h2" },
      ),
    );
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  };
  return {
    node: element("div", {}, element("h1", {}, "All heads as small multiples"), controls, place),
    update,
  };
}
