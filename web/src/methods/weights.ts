// Quantities of the weights of one row, and of how they spread.
import type { Formulas } from "./formula";

export const WEIGHTS: Formulas = {
  mass: {
    tex: String.raw`\sum_{j=1}^{n} a_j`,
    words: "The total weight that a query gives; 1 under softmax.",
    source: "docs/mathematics.md 7a",
  },
  entropy: {
    tex: String.raw`H = -\sum_{j=1}^{n} p_j \,\log p_j, \qquad p_j = \frac{|a_j|}{\sum_k |a_k|}`,
    words: "How widely the weights spread: 0 on a single key, log n over all n keys alike.",
    source: "Zhai et al. 2023 (arXiv 2303.06296); docs/mathematics.md G1",
  },
  entropy_normalized: {
    tex: String.raw`\frac{H}{\log n}, \qquad n \ge 2`,
    words: "Entropy as a share of its ceiling: at 1 every key counts alike and nothing is selected.",
    source: "Zhai et al. 2023 (arXiv 2303.06296); docs/mathematics.md G1",
  },
  entropy_without_sink: {
    tex: String.raw`-\sum_{j=2}^{n} p'_j \,\log p'_j, \qquad p'_j = \frac{p_j}{\sum_{k=2}^{n} p_k}`,
    words: "The spread of what does not go to the first key.",
    source: "docs/mathematics.md 7a",
  },
  effective_tokens: {
    tex: String.raw`e^{H}`,
    words: "The number of keys that a row spreads over, averaged over the rows.",
    source: "docs/mathematics.md G4",
  },
  participation_ratio: {
    tex: String.raw`\frac{1}{\sum_j p_j^2}`,
    words: "The number of keys that carry a row; it counts small weights less than the entropy does.",
    source: "Kish's effective sample size; docs/mathematics.md G4",
  },
  max_weight: {
    tex: String.raw`\max_j a_j`,
    words: "The largest weight of a row.",
    source: "docs/mathematics.md 7a",
  },
  mass_90: {
    tex: String.raw`\min\Bigl\{k : \sum_{j \in I_k} p_j \ge 0.9\Bigr\}`,
    words: "How many of the largest weights hold 90 % of the whole.",
    source: "docs/mathematics.md G4",
  },
  sink_weight: {
    tex: String.raw`a_1`,
    words: "The weight on the first key of the text, where many heads put what they do not need.",
    source: "Gu et al. 2024 (arXiv 2410.10781); docs/mathematics.md G3",
  },
  attention_distance: {
    tex: String.raw`\sum_j p_j\,|t - j|`,
    words: "How many tokens back the query at position t looks, on average.",
    source: "docs/mathematics.md G4",
  },
  logit_range: {
    tex: String.raw`\max_j l_j - \min_j l_j`,
    words: "The spread of the scaled scores, which limits how unequal the weights can be.",
    source: "docs/mathematics.md G6",
  },
  scaled_weight_min: {
    tex: String.raw`n \,\min_j a_j`,
    words: "The smallest weight against an even share; bounded below where the scores are.",
    source: "paper A, Lemma 1 (C1); docs/mathematics.md L1",
  },
  scaled_weight_max: {
    tex: String.raw`n \,\max_j a_j`,
    words: "The largest weight against an even share; bounded above where the scores are.",
    source: "paper A, Lemma 1 (C2); docs/mathematics.md L1",
  },
  visible_keys: {
    tex: String.raw`n`,
    words: "The number of keys that a query sees, averaged over the queries.",
    source: "docs/mathematics.md 2, row conventions",
  },
  entropy_slope: {
    tex: String.raw`b = \sum_k w_k \frac{y_k - y_{k-1}}{x_k - x_{k-1}}, \qquad y = H,\; x = \log n`,
    words:
      "Growth of the entropy per unit of log n over the last four octaves of position: 1 disperses " +
      "over all new keys, 0 keeps selecting.",
    source: "Velickovic et al. 2024; docs/mathematics.md G6, 7b",
  },
  max_weight_slope: {
    tex: String.raw`b = \sum_k w_k \frac{y_k - y_{k-1}}{x_k - x_{k-1}}, \qquad y = \log \max_j a_j,\; x = \log n`,
    words: "How the largest weight falls with the number of keys: -1 as 1/n, 0 not at all.",
    source: "docs/mathematics.md G6, 7b",
  },
  effective_tokens_forecast: {
    tex: String.raw`\exp\bigl(y_K + b\,g\,(\tau - \tau_K)\bigr), \qquad y = \log \overline{e^{H}}`,
    words:
      "Effective tokens at 2, 4 and 8 times the longest length, by a random walk with drift b over " +
      "the octaves seen, y the mean over rows, τ the log of the position and g the growth of log n per log position; its standard error is that of the prediction.",
    source: "docs/mathematics.md 7b",
  },
  forecast_coverage: {
    tex: String.raw`\frac{\#\{\text{heads}: |y_K - \hat y_K| \le 2\,\mathrm{se}(\hat y_K)\}}{\#\{\text{heads}\}}`,
    words:
      "The share of heads whose forecast from all octaves but the last held there; below 0.8 the " +
      "forecasts are unreliable.",
    source: "docs/mathematics.md 7b",
  },
  kept_mass: {
    tex: String.raw`\sum_{j \in \text{kept}} p_j`,
    words: "The share of the model's own weight that lies on the keys a pattern keeps.",
    source: "docs/patterns.md; docs/mathematics.md 7a",
  },
  output_change: {
    tex: String.raw`\frac{\lVert o' - o \rVert_2}{\lVert o \rVert_2}, \qquad o = \sum_j a_j v_j`,
    words: "How far the head's output moves under the other rule or pattern, with the same q, k, v.",
    source: "docs/mathematics.md 7a",
  },
  entropy_deficit: {
    tex: String.raw`\log n - H`,
    words: "How much is selected: the entropy that is missing to an even spread over the keys left.",
    source: "docs/mathematics.md 7a",
  },
  entropy_deficit_random: {
    tex: String.raw`\log n' - H(p_R), \qquad R \text{ random}, \; |R| = n'`,
    words: "The same of the model's own weights on as many keys drawn at random: what to compare with.",
    source: "docs/mathematics.md 7a",
  },
  fitted_parameter: {
    tex: String.raw`\operatorname*{arg\,min}_\theta\; \text{loss}(\theta)`,
    words: "The parameter of a rule that was chosen for this head on the text of --fit.",
    source: "docs/normalizers.md",
  },
  loss: {
    tex: String.raw`-\frac{1}{L-1}\sum_{t=1}^{L-1} \log p(x_{t+1} \mid x_1 \dots x_t)`,
    words: "How well the model predicts this text, in nats a token.",
    source: "docs/mathematics.md 7a",
  },
  loss_change: {
    tex: String.raw`\frac{1}{L-1}\sum_{t=1}^{L-1} \bigl(\ell'_t - \ell_t\bigr), \qquad \ell_t = -\log p(x_{t+1} \mid x_{\le t})`,
    words: "What the exchange costs: the mean of the differences token by token, whose error is theirs.",
    source: "docs/mathematics.md 7a",
  },
  kl: {
    tex: String.raw`\frac{1}{L}\sum_{t=1}^{L} \sum_w p_t(w) \,\log\frac{p_t(w)}{p'_t(w)}`,
    words: "How far the predicted next tokens move, from the original model to the exchanged one.",
    source: "docs/mathematics.md 7a",
  },
};
