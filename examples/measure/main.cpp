// A measure of one's own: how much of its weight every head puts on the token before the query.
//
//   measure_example MODEL TEXT
#include <cstdio>
#include <headgauge/headgauge.hpp>

namespace hg = headgauge;

class PreviousToken final : public hg::Measure {
 public:
  void declare(hg::MetricRegistry& metrics) override {
    previous_ = metrics.add({.name = "previous_token_weight",
                             .group = "own",
                             .unit = "1",
                             .formula = "a_{i,i-1}",
                             .meaning = "weight on the token before the query"});
  }
  hg::MeasureNeeds needs() const override { return {.weights = true}; }

  void observe(const hg::RowBlock& block, int /*slot*/, hg::RowSink& sink) override {
    for (hg::Index r = 0; r < block.size(); ++r) {
      const hg::Row& row = block.rows[r];
      for (hg::Index i = 0; i < row.n(); ++i) {
        if (row.key(i) == row.query - 1) sink.set(r, previous_, row.weights[i]);
      }
    }
  }

 private:
  hg::MetricHandle previous_;
};

int main(int argc, char** argv) try {
  if (argc != 3) throw hg::UsageError("usage: measure_example MODEL TEXT");
  const auto model = hg::resolve_model(argv[1]);
  const auto tokenizer = hg::Tokenizer::load(model.tokenizer());
  const auto source =
      hg::make_model_source(model, {hg::read_document(argv[2], tokenizer, true)}, {});

  hg::ScanOptions options;
  options.lengths = {32};
  options.measures = {"weights"};
  options.own_measures = {[](const hg::MeasureOptions&, const hg::SourceInfo&, int /*slots*/) {
    return std::make_unique<PreviousToken>();
  }};
  const hg::Results results = hg::scan(*source, options);

  for (int layer = 0; layer < source->info().layers; ++layer) {
    for (int head = 0; head < source->info().heads; ++head) {
      std::printf("head %d.%d puts %.3f on the token before\n", layer, head,
                  results.at("previous_token_weight", {layer, head, 0}));
    }
  }
} catch (const hg::Error& error) {
  std::fprintf(stderr, "measure_example: %s\n", error.what());
  return error.exit_code();
}
