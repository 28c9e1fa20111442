// The flags of a results file: a list of kinds for the model, sentences for a head.
import { FLAGS } from "../catalogue/catalogue";
import type { Flag, Results } from "../data/results";
import { formatShare } from "../figures/format";
import { ROLES } from "../figures/roles";
import { button, element, list, note, section } from "./element";
import { allHeads } from "./cells";
import { count, grouped, headLink, withCommands, withUnit } from "./words";

const HEADS_SHOWN = 18;

export interface FlagGroup {
  name: string;
  flags: Flag[];
}

// Groups flags by kind, the most frequent first; equal counts in order of appearance.
export function flagGroups(flags: readonly Flag[]): FlagGroup[] {
  const groups = new Map<string, Flag[]>();
  for (const flag of flags) {
    const name = flag.change ? `${flag.name} (${flag.change})` : flag.name;
    groups.set(name, [...(groups.get(name) ?? []), flag]);
  }
  return [...groups]
    .map(([name, members]) => ({ name, flags: members }))
    .sort((a, b) => b.flags.length - a.flags.length);
}

// The flags of a series of checkpoints are those of the last.
export const flagsTitle = (results: Results): string =>
  results.command === "series" ? "Roles, flags at the last step" : "Roles, flags";

export function flagsOfModel(results: Results): HTMLElement {
  const groups = flagGroups(results.header.flags ?? []);
  return section(
    "flags", flagsTitle(results),
    ...groups.map((group) => flagGroup(results, group)),
    groups.length === 0 && note("No head was flagged. A flag whose metrics were not measured is not judged."),
  );
}

// Example: "135 of 270 heads".
const rate = (results: Results, heads: number): string =>
  `${grouped(heads)} of ${count(allHeads(results).length, "head")}`;

// A flag that half of all heads carry does not distinguish heads.
const COMMON = "Half of all heads or more have it: it describes the model, and no head of its own. ";
const common = (results: Results, heads: number): string =>
  allHeads(results).length > 2 && heads >= allHeads(results).length / 2 ? COMMON : "";

const headsWith = (results: Results, flag: Flag): number =>
  (results.header.flags ?? []).filter(({ name, change }) => name === flag.name && change === flag.change).length;

// Explains a flag and recommends a command, for one head if `head` is given.
function explained(results: Results, flag: Flag, head?: Flag): (HTMLElement | null)[] {
  const words = results.header.flag_words?.[flag.name];
  if (words === undefined) return [];
  return [
    element("p", { class: "explained" }, words.means),
    element("p", { class: "note explained" }, withCommands(words.next, head)),
  ];
}

function flagGroup(results: Results, { name, flags }: FlagGroup): HTMLElement {
  const first = flags[0]!;
  const same = flags.every((flag) => flag.threshold === first.threshold);
  const where = `At length ${first.length}${same ? "" : "; each head has a threshold of its own"}. Source: ${first.source}`;
  const summary = element("summary", {}, badge(name), ` ${rate(results, flags.length)}`, same && span("note", bound(first)));
  return element(
    "details",
    { class: "flag" },
    summary,
    first.advice ? element("p", { class: "advice" }, first.advice) : null,
    ...explained(results, first),
    note(`${common(results, flags.length)}${raisedWhere(results, first)}${where}`),
    headLinks(flags),
  );
}

// Example: "above 30 %": the threshold with its unit, and on which side of it a head is flagged.
const bound = (flag: Flag): string =>
  `${flag.value < flag.threshold ? "below" : "above"} ${sized(flag, flag.threshold)}`;

function sized({ name }: Flag, value: number, digits = 3): string {
  const { of, share_of } = FLAGS.get(name) ?? {};
  return of?.range?.[1] === 1 || share_of !== undefined ? formatShare(value, digits) : withUnit(value, of?.unit ?? "");
}

const span = (name: string, text: string): HTMLElement => element("span", { class: name }, text);
const badge = (name: string): HTMLElement => span("badge", flagWords(name));

const raisedWhere = (results: Results, { name }: Flag): string => {
  const meaning = results.header.flag_words?.[name]?.meaning;
  return meaning === undefined ? "" : `Raised at: ${meaning}. `;
};

function headLinks(flags: readonly Flag[]): HTMLElement {
  const items = flags.map((flag) => [headLink(flag), span("note", ` ${sized(flag, flag.value)}`)]);
  const made = list("heads", items.slice(0, HEADS_SHOWN));
  const rest = list("", items.slice(HEADS_SHOWN));
  const words = `${items.length - HEADS_SHOWN} more`;
  const all = element("li", {}, button("more", words, () => all.replaceWith(...rest.children)));
  if (items.length > HEADS_SHOWN) made.append(all);
  return made;
}

// A role is a flag that names a behaviour of a head; a head may have several.
export const rolesFirst = (flags: readonly Flag[]): Flag[] =>
  [...flags].sort((a, b) => Number(ROLES.includes(b.name)) - Number(ROLES.includes(a.name)));

export const flagWords = (name: string): string => name.replaceAll("_", " ");

// Lists the flags of one head, each with the measured value and a recommendation.
export function flagsOfHead(results: Results, flags: readonly Flag[]): HTMLElement {
  if (flags.length === 0) return note("This head has no flag.");
  return list(
    "flag-list",
    flags.map((flag) => [
      badge(flag.name),
      flag.change && ` ${flag.change}`,
      ` ${sized(flag, flag.value)} at length ${flag.length}, flagged ${bound(flag)}; ` +
        `${rate(results, headsWith(results, flag))}. `,
      flag.advice && span("advice", flag.advice),
      span("note", ` (${flag.source})`),
      ...explained(results, flag, flag),
    ]),
  );
}

export const badges = (flags: readonly Flag[] = []): HTMLElement =>
  element("span", { class: "badges" }, ...[...new Set(flags.map(({ name }) => name))].map(badge));

export const flagTitle = (flags: readonly Flag[] = []): string => flags.map(({ name }) => flagWords(name)).join(", ");
