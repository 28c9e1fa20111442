// Quantities of paper B, "Token Sample Complexity of Attention", and of where the papers meet.
import type { Formulas } from "./formula";

const points = (kind: string) => ({
  tex: String.raw`\#\{n : \text{error}(n) \le \text{floor}\}`,
  words: `Points of the error of the ${kind} left out of its rate: rounding or the reference may make them.`,
  source: "docs/mathematics.md 5a, 5b",
});

export const TOKENS: Formulas = {
  horizon: {
    tex: String.raw`H = \frac{1}{\sqrt{d}}\sqrt{\lambda_{\max}\bigl(\mathrm{Cov}(q)\,\mathrm{Cov}(k)\bigr)} = \lVert \Sigma^{1/2} A\,\Sigma^{1/2}\rVert_2`,
    words: "How far the scores spread over the tokens; above 2 the output settles slowly.",
    source: "paper B; docs/mathematics.md D5.3",
  },
  horizon_paper: {
    tex: String.raw`\sqrt{\lambda_{\max}\bigl(\mathrm{Cov}(q)\,\mathrm{Cov}(k)\bigr)}`,
    words: "The horizon as the paper's code has it, without the scale of the scores.",
    source: "paper B, public code; docs/mathematics.md D5.3, C-9",
  },
  rate_predicted: {
    tex: String.raw`\beta = \frac{1}{2\,(1 + H^2)}`,
    words: "The rate at which the paper's bound on the errors falls with n; softmax alone.",
    source: "paper B; docs/mathematics.md T5.2",
  },
  error_constant: {
    tex: String.raw`\operatorname*{mean}_{\text{queries}}\; n \sum_j a_j^2\, \frac{\lVert v_j - o\rVert^2}{\lVert o\rVert^2}`,
    words: "What n times the squared relative error of the output tends to.",
    source: "docs/mathematics.md 5, bridge",
  },
  error_mean: {
    tex: String.raw`\mathbb{E}\,\frac{\lVert \hat m_n - m\rVert_2}{\sqrt{\mathrm{tr}\,C}}`,
    words: "The relative error of the outputs' mean when they come from n tokens.",
    source: "paper B; docs/mathematics.md 5a",
  },
  error_mean_absolute: {
    tex: String.raw`\mathbb{E}\,\lVert \hat m_n - m\rVert_2`,
    words: "The same without the division, as in the paper's figures.",
    source: "paper B; docs/mathematics.md 5a",
  },
  error_covariance: {
    tex: String.raw`\mathbb{E}\,\frac{\lVert \hat C_n - C\rVert_F}{\lVert C\rVert_F}`,
    words: "The relative error of the outputs' covariance when they come from n tokens.",
    source: "paper B; docs/mathematics.md 5a",
  },
  error_covariance_absolute: {
    tex: String.raw`\mathbb{E}\,\lVert \hat C_n - C\rVert_F`,
    words: "The same without the division, as in the paper's figures.",
    source: "paper B; docs/mathematics.md 5a",
  },
  rate_mean: {
    tex: String.raw`-\frac{\mathrm{d}\,\log \lVert \hat m_n - m\rVert}{\mathrm{d}\,\log n}`,
    words: "The error of the mean falls as n to the minus this rate; a weighted fit.",
    source: "paper B; docs/mathematics.md 5a",
  },
  rate_covariance: {
    tex: String.raw`-\frac{\mathrm{d}\,\log \lVert \hat C_n - C\rVert}{\mathrm{d}\,\log n}`,
    words: "The error of the covariance falls as n to the minus this rate; a weighted fit.",
    source: "paper B; docs/mathematics.md 5a",
  },
  points_under_floor_mean: points("mean"),
  points_under_floor_covariance: points("covariance"),
  reference_error_mean: {
    tex: String.raw`\frac{\lVert m_{\text{ref}} - m\rVert_2}{\sqrt{\mathrm{tr}\,C}}`,
    words: "The error that the reference itself may have; 0 where it is in closed form.",
    source: "docs/mathematics.md 5b",
  },
  reference_error_covariance: {
    tex: String.raw`\frac{\lVert C_{\text{ref}} - C\rVert_F}{\lVert C\rVert_F}`,
    words: "The error that the reference of the covariance itself may have.",
    source: "docs/mathematics.md 5b",
  },
  uniform_error: {
    tex: String.raw`\mathbb{E}\, \max_{\lVert \Sigma^{-1/2} x\rVert \le R} \lVert \Gamma_n(x) - \Gamma(x)\rVert_2`,
    words: "The largest error of the attention map over a net of queries up to radius R.",
    source: "paper B; docs/mathematics.md T5.1, 5b",
  },
  uniform_rate: {
    tex: String.raw`-\frac{\mathrm{d}\,\log \text{uniform error}}{\mathrm{d}\,\log n}`,
    words: "How fast the largest error falls with n; 1/2 in the limit.",
    source: "paper B; docs/mathematics.md T5.1, 5b",
  },
  uniform_constant: {
    tex: String.raw`C(R) = \sqrt{n_{\max}}\;\text{uniform error}(n_{\max}, R)`,
    words: "The constant in front of 1/√n, as measured at the largest n.",
    source: "paper B; docs/mathematics.md T5.1, 5b",
  },
  uniform_constant_predicted: {
    tex: String.raw`\max_{x}\; \sqrt{\lim_{n \to \infty} n\,\mathbb{E}\,\lVert \Gamma_n(x) - \Gamma(x)\rVert^2}`,
    words: "The constant that the pointwise limit predicts; it grows as the exponential of R²/2.",
    source: "docs/mathematics.md T5.1, O2, 5b",
  },
  hardmax_error: {
    tex: String.raw`\mathbb{E}\,\Bigl\lVert \frac{y_{\operatorname{arg\,max} \langle u, y\rangle}}{\sqrt{2 \log n}} - u\Bigr\rVert_2`,
    words: "The error when all the weight lies on the largest score: it falls with log n alone.",
    source: "paper B; docs/mathematics.md T5.3, 5b",
  },
  hardmax_error_predicted: {
    tex: String.raw`\mathbb{E}\,\frac{\sqrt{\chi^2_{d-1} + (M_n - \sqrt{2 \log n})^2}}{\sqrt{2 \log n}}`,
    words: "The same by its law, with the largest of n normal numbers.",
    source: "docs/mathematics.md 5b",
  },
  tokens_for_error: {
    tex: String.raw`\min\Bigl\{k : \operatorname*{mean}_{\text{queries}} \frac{\lVert o_k - o\rVert}{\lVert o\rVert} \le \text{tolerance}\Bigr\}`,
    words: "The fewest keys that keep the head's output within the tolerance; 8 means 8 or fewer.",
    source: "docs/mathematics.md 5a",
  },
  budget_keys: {
    tex: String.raw`\max_{h \in \text{group}}\; k_h`,
    words: "What has to be kept for all the heads that share these keys.",
    source: "docs/mathematics.md 5a",
  },
  cache_bytes_by_layer: {
    tex: String.raw`\sum_{\text{kv heads}} (d_k + d_v)\;\text{bytes}\;\frac{\min(\text{budget}, L)}{L}`,
    words: "The layer's key-value cache per token of context, in full and under the budgets.",
    source: "docs/mathematics.md 5a",
  },
  cache_bytes: {
    tex: String.raw`\sum_{\text{layers}} \text{cache bytes}`,
    words: "The key-value cache of the whole model per token of context.",
    source: "docs/mathematics.md 5a",
  },
  rank_correlation: {
    tex: String.raw`\rho = \mathrm{corr}\bigl(\mathrm{rank}(u_h), \mathrm{rank}(v_h)\bigr)`,
    words: "Spearman's correlation over heads: whether those that select poorly need more context.",
    source: "docs/mathematics.md 5a",
  },
  rank_correlation_low: {
    tex: String.raw`\rho^{*}_{0.025}`,
    words: "The lower end of its 95 % interval, from 2000 resamples of the heads.",
    source: "docs/mathematics.md 5a",
  },
  rank_correlation_high: {
    tex: String.raw`\rho^{*}_{0.975}`,
    words: "The upper end of its 95 % interval, from 2000 resamples of the heads.",
    source: "docs/mathematics.md 5a",
  },
};
