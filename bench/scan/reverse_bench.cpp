// The reverse pass of a model against its forward pass, in turns: wall time and peak memory.
// Prints one JSON line a figure.
//
//   bench_reverse MODEL [length] [threads] [turns]
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "headgauge/headgauge.hpp"
#include "headgauge/patterns.hpp"

namespace headgauge {
namespace {

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void run(const std::string& name, int length, int threads, int turns) {
  Document text{"made", {}, ""};
  const ResolvedModel model = resolve_model(name);
  const Index vocabulary = summarize_model(Checkpoint(model)).vocabulary;
  for (Index i = 0; i < length; ++i) {
    text.tokens.push_back(static_cast<int>((i * i * 7919 + 31 * i + 5) % vocabulary));
  }
  const auto source = make_model_source(model, {text}, {.threads = threads});
  const SourceInfo& info = source->info();
  HeadIntervention window, mean;
  window.pattern = make_pattern(fmt::format("sinks:sinks=4,window={}", length / 8));
  mean.normalizer = make_normalizer("uniform");
  GatedHeads own{{HeadIntervention()},
                 PerHead<std::vector<double>>(info.layers, info.heads, {1.0})};
  GatedHeads mixed{{HeadIntervention(), window, mean},
                   PerHead<std::vector<double>>(info.layers, info.heads, {0.5, 0.3, 0.2})};
  const int document = 0;
  const Differentiated sum = {
      .weigh = [](int, const NextTokens& next) { return std::vector(next.losses.size(), 1.0); }};
  std::vector<double> forward, reverse, gated;
  double forward_mib = 0;
  for (int turn = 0; turn <= turns; ++turn) {
    const double begin = seconds();
    source->intervene({});
    for (int layer = 0; layer < info.layers; ++layer) source->layer(layer, document);
    source->next_tokens(document);
    const double middle = seconds();
    if (turn == 0) forward_mib = peak_mib();
    source->gradients({&document, 1}, own, sum);
    const double end = seconds();
    source->gradients({&document, 1}, mixed, sum);
    if (turn == 0) continue;  // the first warms up
    forward.push_back(middle - begin);
    reverse.push_back((end - middle) / forward.back());
    gated.push_back((seconds() - end) / forward.back());
  }
  fmt::print(
      "{{\"length\": {}, \"forward_s\": {:.3f}, \"beyond_forward\": {:.2f}, "
      "\"with_gates\": {:.2f}, \"forward_mib\": {:.0f}, \"peak_mib\": {:.0f}}}\n",
      length, median(forward), median(reverse) - 1, median(gated) - 1, forward_mib, peak_mib());
}

}  // namespace
}  // namespace headgauge

int main(int count, char** words) {
  const auto number = [&](int at, int otherwise) {
    return count > at ? std::atoi(words[at]) : otherwise;
  };
  headgauge::run(words[1], number(2, 512), number(3, 0), number(4, 5));
}
