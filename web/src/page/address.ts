// The part of the address after #: the view, its item, and the choices made there. A link to it
// opens the same view again.

export interface Address {
  readonly view: string;
  readonly item: string; // "3.5" in #head/3.5; empty for views without items
  readonly query: Readonly<Record<string, string>>;
}

export function parseAddress(hash: string): Address {
  const [path = "", search = ""] = hash.replace(/^#/, "").split("?", 2);
  const [view = "", ...rest] = path.split("/");
  const query: Record<string, string> = {};
  for (const [name, value] of new URLSearchParams(search)) query[name] = value;
  return { view: plain(view), item: plain(rest.join("/")), query };
}

export function formatAddress({ view, item, query }: Address): string {
  // Sorts the names, so that the same state has one address.
  const search = new URLSearchParams(Object.entries(query).sort(([a], [b]) => (a < b ? -1 : 1)));
  const path = item === "" ? view : `${view}/${encodeURIComponent(item)}`;
  const text = search.toString();
  return text === "" ? `#${path}` : `#${path}?${text}`;
}

// Returns the same place with some choices changed; undefined removes one.
export function changed(
  address: Address,
  choices: Readonly<Record<string, string | undefined>>,
): Address {
  const query: Record<string, string> = { ...address.query };
  for (const [name, value] of Object.entries(choices)) {
    if (value === undefined) delete query[name];
    else query[name] = value;
  }
  return { ...address, query };
}

export interface Head {
  layer: number;
  head: number;
}

export function headName({ layer, head }: Head): string {
  return `${layer}.${head}`;
}

export function parseHead(text: string): Head | undefined {
  const found = /^(\d+)\.(\d+)$/.exec(text);
  return found ? { layer: Number(found[1]), head: Number(found[2]) } : undefined;
}

export function headAddress(name: string): Address {
  return { view: "head", item: name, query: {} };
}

function plain(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a stray % in a link typed by hand
  }
}
