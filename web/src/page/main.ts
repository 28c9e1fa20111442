// Starts the page: reads its results and opens the view in the address.
import { resultsFromPage } from "../data/embedded";
import type { Results } from "../data/results";
import { element, fill } from "./element";
import { failure, message } from "./picture";
import { Router } from "./router";
import { shell } from "./shell";
import { Theme } from "./theme";
import { views } from "./views";
import "./style/base.css";
import "./style/parts.css";
import "./style/views.css";
import "./style/media.css";

const SCHEMA = "headgauge.results/3";

async function begin(page: HTMLElement): Promise<void> {
  const theme = new Theme();
  let results: Results;
  try {
    results = checked(await resultsFromPage(document));
  } catch (error) {
    document.title = "headgauge";
    const advice = element("p", {}, "Make the page anew with ", element("code", {}, "headgauge report results.json"), ".");
    fill(page, element("main", {}, element("h1", {}, "This page cannot show its results"), failure(message(error)), advice));
    return;
  }
  const { node, place, mark } = shell(results, theme, views);
  fill(page, node);
  void new Router(results, theme, views, place, mark).start().then(() => unpackAhead(results));
}

// Decodes the metrics and the examples while the browser is idle, so that choosing one only has to
// draw it. A damaged one reports its error when it is chosen.
async function unpackAhead(results: Results): Promise<void> {
  for (const name of results.names()) {
    await idle();
    await results.need(name).catch(() => undefined);
  }
  await idle();
  await results.loadExamples?.().catch(() => undefined);
  document.documentElement.dataset["unpacked"] = "all";
}

// Safari has no requestIdleCallback.
function idle(): Promise<void> {
  return new Promise((done) => {
    if (typeof requestIdleCallback === "function") requestIdleCallback(() => done());
    else setTimeout(done, 20);
  });
}

function checked(results: Results): Results {
  const { schema, model, coords } = results.header;
  if (schema !== SCHEMA && !String(schema).startsWith(`${SCHEMA}.`)) {
    throw new Error(`expected results of schema ${SCHEMA}, found ${JSON.stringify(schema)}; a newer headgauge can show them`);
  }
  if (typeof model?.name !== "string" || typeof coords !== "object") {
    throw new Error("the results are not complete: expected a model with a name, and coords");
  }
  return results;
}

void begin(document.getElementById("page")!);
