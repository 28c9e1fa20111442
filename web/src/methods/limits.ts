// Quantities of paper A, "Limitations of Normalization in Attention Mechanism".
import type { Formulas } from "./formula";

export const LIMITS: Formulas = {
  selected_mass: {
    tex: String.raw`\bar a_N = \sum_{i \in I_N} a_i`,
    words: "The share of the weight on the N largest keys.",
    source: "paper A; docs/mathematics.md D2.1",
  },
  distance: {
    tex: String.raw`\tilde d = \sum_{i \notin I_N} \lVert a_i x_i - s \rVert_2, \qquad s = \sum_{j \in I_N} a_j x_j`,
    words: "How far the keys that were not selected stay from the sum of those that were.",
    source: "paper A; docs/mathematics.md D2.3",
  },
  distance_bound: {
    tex: String.raw`\min\Bigl\{(1-\bar a_N)\,d_1 + \max_{j \in I_N}\lVert x_j\rVert \sum_{i \notin I_N}|\bar a_N - a_i|,\; \sum_{i \notin I_N} a_i \lVert x_i\rVert + (n-N)\lVert s\rVert\Bigr\}`,
    words: "A bound that the distance never exceeds, row by row.",
    source: "docs/mathematics.md A3, A4",
  },
  distance_bound_paper: {
    tex: String.raw`(1-\bar a_N)\,d_1 + \max_{j \in I_N}\lVert x_j\rVert\,\bigl[\bar a_N (n-N) - (1-\bar a_N)\bigr]`,
    words: "The bound as the paper prints it, with the brackets that it needs.",
    source: "paper A, Thm 1.1; docs/mathematics.md T1.1",
  },
  expected_distance: {
    tex: String.raw`p \sum_i \lVert (1+k)\,y_i - k Y \rVert_2, \qquad y_i = a_i x_i,\; Y = \sum_i y_i,\; p = \tfrac{n-N}{n},\; k = \tfrac{N}{n-1}`,
    words: "A lower bound of what N keys drawn at random give; the N largest keys usually lie above it.",
    source: "paper A, Thm 1.2; docs/mathematics.md T1.2, reading uniform",
  },
  expected_distance_upper: {
    tex: String.raw`p \sum_i \sqrt{\lVert m_i\rVert^2 + v_i}, \qquad m_i = (1+k)\,y_i - k Y, \qquad v_i = \tfrac{N(n-1-N)}{(n-1)(n-2)} \sum_{j \ne i} \bigl\lVert y_j - \tfrac{Y - y_i}{n-1}\bigr\rVert^2`,
    words: "What N keys drawn at random would give, at most.",
    source: "docs/mathematics.md T1.2",
  },
  expected_distance_context: {
    tex: String.raw`p \sum_i \lVert (a_i + k)\,x_i - Y \rVert_2, \qquad Y = \sum_j a_j x_j`,
    words:
      "The term that critical N compares the distance with; a reading of the paper that is a " +
      "conjecture, and bounds nothing.",
    source: "docs/mathematics.md T1.2, reading context",
  },
  expected_distance_sampled: {
    tex: String.raw`\frac{1}{K}\sum_{k=1}^{K} \tilde d(R_k), \qquad R_k \text{ random},\; |R_k| = N`,
    words: "The distance of random sets by drawing them: a check of the two expressions.",
    source: "docs/mathematics.md T1.2 by Monte Carlo",
  },
  expected_distance_sampled_error: {
    tex: String.raw`\frac{\mathrm{sd}\bigl(\tilde d(R_k)\bigr)}{\sqrt{K}}`,
    words: "How far the drawn mean may be from the exact one.",
    source: "docs/mathematics.md T1.2",
  },
  margin: {
    tex: String.raw`\frac{\tilde d}{n - N}`,
    words: "The distance for each key that was not selected.",
    source: "docs/mathematics.md 2, note on Cor 2",
  },
  critical_n: {
    tex: String.raw`\min\Bigl\{N : Q\bigl(D_N \sqrt{\tfrac{m}{2}}\bigr) \ge \text{level}\Bigr\}`,
    words:
      "The first N at which the m heads' mean distances cannot be told from their mean expected " +
      "distances (reading context) by a Kolmogorov-Smirnov test; -1 if there is none.",
    source: "paper A, Fig. 2c and Alg. 3; docs/mathematics.md 7a",
  },
  critical_fraction: {
    tex: String.raw`\frac{N_{\text{critical}}}{L}`,
    words: "Critical N as a share of the length; the paper finds less than 0.06.",
    source: "paper A; docs/mathematics.md 7a",
  },
  critical_ks_d: {
    tex: String.raw`D = \sup_z \bigl|F_{\tilde d}(z) - F_{E}(z)\bigr|`,
    words: "The largest gap between the two distributions over heads, at critical N.",
    source: "docs/mathematics.md 7a",
  },
  critical_ks_p: {
    tex: String.raw`p = Q\Bigl(D \sqrt{\tfrac{n m}{n + m}}\Bigr), \qquad Q(z) = 2\sum_{k \ge 1} (-1)^{k-1} e^{-2 k^2 z^2}`,
    words: "The probability of such a gap by chance; critical N is the first where it reaches the level.",
    source: "docs/mathematics.md 7a",
  },
  critical_n_head: {
    tex: String.raw`\min\bigl\{N : |\overline{\tilde d} - \overline{E_{\text{ctx}}}| < 2\,\mathrm{se}\bigr\}`,
    words: "Critical N of one head, in the reading “context”, by its own standard errors; -1 if there is none.",
    source: "docs/mathematics.md 7a",
  },
  critical_fraction_head: {
    tex: String.raw`\frac{N_{\text{critical, head}}}{L}`,
    words: "The share of the context that the head can use.",
    source: "docs/mathematics.md 7a",
  },
  separability: {
    tex: String.raw`\frac{N_s}{N} = \frac{1}{N}\,\#\bigl\{i \in I_N : \lVert a_i x_i - s\rVert_2 < r\bigr\}, \qquad r = \min_{j \notin I_N} \lVert a_j x_j - s\rVert_2`,
    words: "The share of the selected keys that stand apart from every other key.",
    source: "paper A; docs/mathematics.md D3.2, D3.3",
  },
  separability_lower: {
    tex: String.raw`\frac{1}{N}\,\#\{i \in I_N : \xi_i < r\}, \qquad \xi_i^2 = M^2 B_i + \bigl(M^2 - \tfrac{\delta^2}{2}\bigr)(A_i^2 - B_i)`,
    words: "A lower bound that holds for any vectors.",
    source: "docs/mathematics.md D3.4",
  },
  separability_model_lower: {
    tex: String.raw`\frac{1}{N}\sum_{i \in I_N} \max\Bigl\{0,\; 1 - \frac{v_i^2}{r^2},\; 1 - e^{-((r - v_i)_+)^2 / (2 v_i^2)}\Bigr\}`,
    words: "A lower bound for random vectors: compare it with the null alone.",
    source: "docs/mathematics.md T2v",
  },
  separability_model_upper: {
    tex: String.raw`\frac{1}{N}\sum_{i \in I_N} e^{-((\mu_i - r)_+)^2 / (2 v_i^2)}, \qquad v_i = M\sqrt{B_i},\; \mu_i = \frac{v_i}{\sqrt{1 + 2/d}}`,
    words: "An upper bound for random vectors: compare it with the null alone.",
    source: "docs/mathematics.md T2v",
  },
  separability_lower_paper: {
    tex: String.raw`1 - \frac{1}{r N}\sum_{i \in I_N} \xi_i`,
    words: "The lower bound as printed: it holds, but is mostly negative.",
    source: "paper A, Thm 2; docs/mathematics.md T2",
  },
  separability_upper_paper: {
    tex: String.raw`\frac{1}{N}\sum_{i \in I_N} e^{-(r - \xi_i)^2 / (16 M^2)}`,
    words: "The upper bound as printed: it does not hold.",
    source: "paper A, Thm 2; docs/mathematics.md C-5",
  },
  separability_null: {
    tex: String.raw`\frac{N_s}{N} \;\text{ with }\; x_j \to z_j \sim \mathrm{Uniform}(S^{d-1})`,
    words: "What the same weights give on random vectors: separability near it tells nothing.",
    source: "docs/mathematics.md 7a",
  },
  union_coverage: {
    tex: String.raw`\frac{\bigl|\bigcup_h D_h\bigr|}{\bigl|\bigcup_h I_h\bigr|}`,
    words: "The share of all keys selected in a layer that at least one of its heads tells apart.",
    source: "docs/mathematics.md 7a",
  },
  union_coverage_independent: {
    tex: String.raw`\operatorname*{mean}_{i \in \cup I_h} \Bigl(1 - \prod_{h : i \in I_h} (1 - p_h)\Bigr)`,
    words: "What independent heads with these separabilities would cover.",
    source: "docs/mathematics.md 7a",
  },
  union_coverage_paper: {
    tex: String.raw`1 - (1 - \bar p)^{H}`,
    words: "What independent heads would cover if all selected the same keys.",
    source: "paper A, section 4; docs/mathematics.md 3",
  },
  top_overlap: {
    tex: String.raw`\max_{g \ne h}\, \operatorname*{mean}_t \frac{|C_h \cap C_g|}{|C_h \cup C_g|}`,
    words: "How much its ten first keys agree with those of the most similar head of the layer.",
    source: "docs/mathematics.md 7a",
  },
  top_overlap_partner: {
    tex: String.raw`\operatorname*{arg\,max}_{g \ne h}\, \operatorname*{mean}_t \frac{|C_h \cap C_g|}{|C_h \cup C_g|}`,
    words: "The head of the layer that selects most nearly the same keys.",
    source: "docs/mathematics.md 7a",
  },
  sensitivity: {
    tex: String.raw`g(T, \varepsilon) = \frac{\lVert w((l + \varepsilon v)/T) - w(l/T)\rVert_2}{\varepsilon}, \qquad \lVert v\rVert_2 = 1`,
    words: "How strongly the weights answer to a step of size ε in the scores at temperature T.",
    source: "paper A, Alg. 5; docs/mathematics.md D4.2",
  },
  sensitivity_top2: {
    tex: String.raw`g(1, 10^{-3}), \qquad v = \frac{e_1 - e_2}{\sqrt 2}`,
    words: "The same where it matters most: a step between the two best keys.",
    source: "docs/mathematics.md D4.2",
  },
  sensitivity_bound: {
    tex: String.raw`\min\Bigl\{\frac{1}{2T},\; \frac{\sqrt 2}{\varepsilon}\Bigr\}`,
    words: "A valid upper bound on the sensitivity; under other rules the sup of their Jacobian's norm.",
    source: "docs/mathematics.md C-7, D4.2",
  },
  sensitivity_bound_paper: {
    tex: String.raw`\min\Bigl\{\frac{1}{4T},\; \sqrt 2\Bigr\}`,
    words: "The bound as printed: it does not hold.",
    source: "paper A, Corollary 3; docs/mathematics.md C-6, C-7",
  },
  sensitivity_max: {
    tex: String.raw`\max_{\text{heads}}\; g(T, \varepsilon)`,
    words: "The most sensitive head at each temperature.",
    source: "paper A, Alg. 5",
  },
  jacobian_frobenius: {
    tex: String.raw`\lVert J\rVert_F = \sqrt{Q_2 - 2 Q_3 + Q_2^2}, \qquad Q_k = \sum_i a_i^k`,
    words: "The size of the whole gradient of the weights in the scores; the formula is that of softmax.",
    source: "paper A, Corollary 3; docs/mathematics.md C3",
  },
  jacobian_spectral: {
    tex: String.raw`\lVert J\rVert_2 = \lambda, \qquad \sum_i \frac{a_i}{a_i - \lambda} = 0`,
    words: "The largest change of the weights per unit change of the scores.",
    source: "docs/mathematics.md D4.1, 7a",
  },
  jacobian_bound: {
    tex: String.raw`G \,\min\bigl\{\tfrac12,\; 2\max_i a_i(1 - a_i),\; \max_i a_i,\; \max_i a_i\, \sqrt n\,\lVert a\rVert_2\bigr\}`,
    words: "A valid upper bound on the spectral norm.",
    source: "docs/mathematics.md L2v",
  },
  jacobian_bound_paper: {
    tex: String.raw`\max_j |F'_j|\,\Bigl(\frac{1}{S} + \frac{\sqrt n\,\lVert F\rVert_2}{S^2}\Bigr)`,
    words: "The printed bound, as reconstructed from its prose.",
    source: "paper A, Lemma 2; docs/mathematics.md L2",
  },
  cost_seconds: {
    tex: String.raw`t_{\text{here}}`,
    words: "The time that one of the paper's algorithms took here, in seconds.",
    source: "paper A, Table 1",
  },
  cost_paper_seconds: {
    tex: String.raw`t_{\text{paper}}`,
    words: "The time that the paper states for the algorithm, on another machine.",
    source: "paper A, Table 1",
  },
};
