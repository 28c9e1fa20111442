// Starts the page: reads its results, or those of a file that the reader opens, and opens the view in the address.
import { resultsFromFile, resultsFromPage } from "../data/embedded";
import type { Header, Results } from "../data/results";
import { button, div, element, fill } from "./element";
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

const page = document.getElementById("page")!;
const theme = new Theme();
let shownText: string | undefined; // of a file that the reader opened
let end = new AbortController();

// Shows the results of this page, or those of a file.
async function show(text?: string): Promise<void> {
  end.abort();
  const { signal } = (end = new AbortController());
  shownText = text;
  let results: Results;
  try {
    results = checked(await (text === undefined ? resultsFromPage(document) : resultsFromText(text)));
    if (signal.aborted) return; // another file came first
  } catch (error) {
    if (signal.aborted) return;
    document.title = "headgauge";
    const advice = element("p", {}, "Make the page anew with ", element("code", {}, "headgauge report results.json"), ".");
    fill(page, element("main", {}, element("h1", {}, "This page cannot show its results"), failure(message(error)), advice));
    return;
  }
  const { node, place, mark } = shell(results, theme, views);
  node.querySelector("footer")!.append(element(
    "p", { class: "files" }, "Drop another results.json or report.html here to open it, or with Shift to see both:",
    button("", "Open a file", () => choose(open)), button("", "Open one beside", () => choose(beside)),
  ));
  fill(page, node);
  void new Router(results, theme, views, place, mark, signal).start();
}

// Reads a results.json or a page.
async function resultsFromText(text: string): Promise<Results> {
  if (!text.trimStart().startsWith("{")) return resultsFromPage(new DOMParser().parseFromString(text, "text/html"));
  const file = JSON.parse(text) as Partial<Header>;
  if (typeof file !== "object" || !("metrics" in file)) throw new Error("expected a results.json or a page of headgauge");
  const lacks = "A results.json has no tables: `headgauge report DIR` makes a page with them.";
  return resultsFromFile({ ...file, notices: [...(file.notices ?? []), lacks] });
}

const open = async (file: Blob) => show(await file.text());

// Shows what is here and the file in two columns, each in a page of its own.
async function beside(file: Blob): Promise<void> {
  const texts = [shownText, await file.text()];
  end.abort();
  const address = location.href.split(/[?#]/)[0]!;
  fill(page, div("beside", ...texts.map((text, k) => {
    const frame = element("iframe", { src: `${address}?side=${k}`, title: `Results ${k + 1}` });
    if (text !== undefined) frame.addEventListener("load", () => frame.contentWindow!.postMessage(text, "*"), { once: true });
    return frame;
  })));
}

function choose(then: (file: Blob) => Promise<void>): void {
  const input = element("input", { type: "file", accept: ".json,.html", onchange: () => void then(input.files![0]!) });
  input.click();
}

addEventListener("dragover", (event) => event.preventDefault());
addEventListener("drop", (event) => {
  event.preventDefault();
  const file = event.dataTransfer?.files[0];
  if (file) void (event.shiftKey ? beside(file) : open(file));
});
addEventListener("message", ({ source, data }) => {
  if (source === parent && parent !== window && typeof data === "string") void show(data);
});

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

void show();
