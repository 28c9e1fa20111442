#include "model/reverse_pass.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace headgauge {

void require_derivative(const Normalizer& rule) {
  if (!rule.traits().unit_norms) return;
  throw UnsupportedError(fault("gates", "choices with a derivative", rule.info().name,
                               "its scores are of queries and keys of length 1, which the reverse "
                               "pass does not go through"));
}

// Returns the heads of the loaded layer under each choice.
MixedHeads ReversePass::mixed(const Text& text, MatrixView<const float> residual,
                              const Choices& choices, int layer) {
  std::vector<HeadInput> own;
  model_.project(residual, own, pool_);
  for (HeadInput& head : own) text.complete(head);
  MixedHeads mixed;
  for (const HeadInterventions& choice : choices.of_all_heads) {
    mixed.choices.push_back(own);
    intervene_in_layer(mixed.choices.back(), choice, pool_);
  }
  for (const HeadInput& head : own) mixed.gates.push_back(choices.gates(layer, head.head));
  return mixed;
}

// Turns the last residual stream into the gradient by it.
NextTokens ReversePass::reverse_loss(const Text& text, Matrix<float>& gradient) {
  const Index length = gradient.rows(), width = gradient.cols();
  const Matrix<float> residual = std::exchange(gradient, Matrix<float>(length, width));
  Matrix<float> hidden(length, width);
  model_.leave(residual, hidden, pool_);
  const MatrixView<const float> rows = text.predicting(std::as_const(hidden).view());
  const Index first = (rows.data() - hidden.data()) / width;
  NextTokens next =
      reverse_next_tokens(rows, model_.output_embedding(), text.targets, model_.logit_cap(),
                          text.weigh, gradient.view().block(first, rows.rows(), 0, width), pool_);
  model_.reverse_leave(residual, gradient, pool_);
  return next;
}

std::vector<Gradients> ReversePass::run(std::vector<Text> texts, const GatedHeads& heads,
                                        const Differentiated& what) {
  const SourceInfo& info = model_.info();
  Choices choices{{}, heads.gates};
  for (const HeadIntervention& choice : heads.choices) {
    if (choice.normalizer != nullptr) require_derivative(*choice.normalizer);
    choices.of_all_heads.emplace_back(info.layers, info.heads, choice);
  }
  const Index attended_width = info.heads * info.head_dim;
  std::vector<std::vector<Matrix<float>>> entered(texts.size());  // by text and layer
  for (int layer = 0; layer < info.layers; ++layer) {
    model_.load(layer, pool_);
    for (std::size_t t = 0; t < texts.size(); ++t) {
      what.before_layer();
      Matrix<float>& stream = texts[t].residual;
      entered[t].push_back(stream);
      Matrix<float> attended(stream.rows(), attended_width);
      attention_.attend(mixed(texts[t], stream, choices, layer), attended, pool_);
      model_.finish(attended, stream, pool_);
    }
  }
  std::vector<Gradients> found(texts.size());
  bool any = what.by_residual;
  for (std::size_t t = 0; t < texts.size(); ++t) {
    Matrix<float>& gradient = texts[t].residual;
    found[t].next = reverse_loss(texts[t], gradient);
    found[t].gates = {info.layers, info.heads, std::vector(heads.choices.size(), 0.0)};
    const std::span<const float> all(gradient.data(),
                                     static_cast<std::size_t>(gradient.rows() * gradient.cols()));
    any = any || std::ranges::any_of(all, std::identity());
  }
  if (!any) return found;
  for (int layer = info.layers - 1; layer >= 0; --layer) {
    model_.load(layer, pool_, Loaded::reverse);
    for (std::size_t t = 0; t < texts.size(); ++t) {
      what.before_layer();
      const Matrix<float> residual = std::move(entered[t].back());
      entered[t].pop_back();
      Matrix<float>& gradient = texts[t].residual;
      const MixedHeads of_layer = mixed(texts[t], residual, choices, layer);
      Matrix<float> attended(residual.rows(), attended_width), by_attended = attended;
      attention_.attend(of_layer, attended, pool_);
      model_.reverse_finish(residual, attended, gradient, by_attended, pool_);
      Matrix<float> by_heads(residual.rows(), (info.heads + 2 * info.kv_heads) * info.head_dim);
      std::vector<std::vector<double>> by_gates;
      attention_.reverse(of_layer, by_attended, by_heads, by_gates, pool_);
      model_.reverse_project(residual, by_heads, gradient, pool_);
      for (int head = 0; head < info.heads; ++head) {
        found[t].gates(layer, head) = std::move(by_gates[static_cast<std::size_t>(head)]);
      }
      if (what.by_residual) found[t].residual.insert(found[t].residual.begin(), gradient);
    }
  }
  return found;
}

}  // namespace headgauge
