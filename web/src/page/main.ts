import { resultsFromPage } from "../data/embedded";

const results = resultsFromPage(document);
document.title = `${results.header.model.name} - headgauge`;
