declare module "virtual:formulas" {
  const formulas: Record<string, { mathml: string; words: string; source: string }>;
  export default formulas;
}
