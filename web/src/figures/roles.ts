// Draws what each head does: layers and heads in the colours of the roles.
import * as Plot from "@observablehq/plot";
import { FLAGS } from "../catalogue/catalogue";
import type { Results } from "../data/results";
import type { Figure } from "./figure";
import { headAt, plainName } from "./format";
import type { KeyEntry } from "./frame";
import { drawGrid, gridSpots } from "./map";
import { themeOf } from "./theme";

// Sinks say where a head rests, and no more of what it does: they are marked by a dot.
export const RESTS = "sinks";

export const ROLES: readonly string[] = [...FLAGS.values()].flatMap(({ name, role }) => (role ? [name!] : []));
const COLOURED = ROLES.filter((name) => name !== RESTS);

const TITLE = "What each head does";

// Returns the roles of each head, by "layer.head", the rarest first and the sinks last.
export function rolesByHead(results: Results): Map<string, string[]> {
  const roles = (results.header.flags ?? []).filter(({ name, change }) => ROLES.includes(name) && change === undefined);
  const found = new Map<string, string[]>();
  for (const { name, layer, head } of roles) {
    found.set(`${layer}.${head}`, [...(found.get(`${layer}.${head}`) ?? []), name]);
  }
  const many = (name: string) => (name === RESTS ? Infinity : roles.filter((flag) => flag.name === name).length);
  for (const own of found.values()) own.sort((a, b) => many(a) - many(b));
  return found;
}

// Returns undefined if no head has a role.
export function rolesFigure(results: Results): Figure | undefined {
  const roles = rolesByHead(results);
  const heads = results.coord("layer").flatMap((_, layer) =>
    results.coord("head").map((__, head) => ({ layer, head, own: roles.get(headAt(results, { layer, head })) ?? [] })),
  );
  if (heads.every(({ own }) => own.length === 0)) return undefined;
  const having = (role: string) => heads.filter(({ own }) => own.includes(role)).length;
  const idle = heads.filter(({ own }) => own.every((role) => role === RESTS)).length;
  const spots = gridSpots(results, true, heads.map(({ own, ...at }) => ({ ...at, title: own.map(plainName).join(", ") || "no role" })));
  return {
    id: "map-roles",
    title: TITLE,
    caption:
      "Each cell is a head: layers downwards, heads across. A head with several roles has the colour of the rarest; " +
      "a role of half of the heads is faint. Roles depend on the text.",
    columns: ["layer", "head", "roles"],
    rows: heads.map(({ layer, head, own }) => [results.coord("layer")[layer]!, results.coord("head")[head]!, own.join(" ")]),
    spots,
    draw: (options) => {
      const theme = themeOf(options.dark);
      const colour = (role: string) => {
        const full = theme.series[COLOURED.slice(0, 5).indexOf(role)] ?? theme.muted;
        return 2 * having(role) < heads.length ? full : `${full}59`;
      };
      const key = [
        ...COLOURED.filter(having).map((role): KeyEntry => ({ label: `${plainName(role)} ${having(role)}`, colour: colour(role), kind: "box" })),
        { label: `none of these ${idle}`, colour: theme.grid, kind: "box" as const },
        { label: `rests on ${RESTS} ${having(RESTS)}`, colour: theme.muted, kind: "dot" as const },
      ];
      const cells = spots.map((spot, k) => {
        const [first] = heads[k]!.own;
        return { ...spot, fill: first === undefined || first === RESTS ? theme.grid : colour(first) };
      });
      return drawGrid(options, { title: TITLE, key }, cells, (width, height) =>
        Plot.dot(cells.filter((_, k) => heads[k]!.own.includes(RESTS)), {
          x: "x", y: "y", r: Math.max(1.5, Math.min(width, height) / 8), fill: theme.text, fillOpacity: 0.45, pointerEvents: "none",
        }),
      );
    },
  };
}
