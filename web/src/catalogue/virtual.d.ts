declare module "virtual:catalogue" {
  const entries: import("./catalogue").CatalogueEntry[];
  export default entries;
}

declare module "virtual:formulas" {
  const mathml: Record<string, string>;
  export default mathml;
}
