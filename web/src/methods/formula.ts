// A quantity as the methods section tells it: its definition in TeX, one sentence in plain words,
// and where it comes from ("math" is docs/mathematics.md).
export interface Formula {
  tex: string;
  words: string;
  source: string;
}

export type Formulas = Readonly<Record<string, Formula>>;
