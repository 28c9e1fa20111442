declare module "virtual:catalogue" {
  const entries: import("./catalogue").CatalogueEntry[];
  export default entries;
}

declare module "virtual:experiments" {
  const experiments: import("./catalogue").Experiment[];
  export default experiments;
}

declare module "virtual:figures" {
  const figures: import("./catalogue").DeclaredFigure[];
  export default figures;
}
