// The views in the order of the bar; the page opens with the first that the file has.
import { claims } from "./claims";
import { head } from "./head";
import { heads } from "./heads";
import { changes, model, papers, training } from "./galleries";
import { overview } from "./overview";
import type { View } from "./page";
import { plan } from "./plan";
import { provenance } from "./provenance";
import { validity } from "./validity";

export const views: readonly View[] = [
  claims, plan, validity, overview, training, heads, head, model, changes, papers, provenance,
];
