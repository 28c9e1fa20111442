#include "cli/calibrated.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cli/planned.hpp"
#include "cli/table_style.hpp"
#include "headgauge/cells.hpp"

namespace headgauge::cli {
namespace {

constexpr std::size_t kPieces = 8;  // of each text
constexpr double kShown = 0.05;

// The longest length of a scan, as it will be resolved.
Index longest_length(const ScanOptions& scan, const SourceInfo& source) {
  if (!scan.lengths.empty()) return std::max(2, std::ranges::max(scan.lengths));
  Index tokens = 0;
  for (const Index document : source.documents) tokens = std::max(tokens, document);
  const Index most = source.max_length > 0 ? source.max_length : source.trained_length;
  return auto_lengths(tokens, most).back();
}

std::string nats(const Results& results, const char* metric, Index rise) {
  const auto cell = find_cell(results, metric, {{"rise", rise}});
  return cell ? fmt::format("{:+.4f}", cell->value) : "-";
}

}  // namespace

std::vector<Option> CalibrationCommand::options() {
  std::vector<Option> all = options_of(calibrate);
  all.push_back({.member = "ConvergeCommand::confirm",
                 .value = &confirm,
                 .form = "FILE...",
                 .group = option_group::input,
                 .help = "Other texts that budgets for a rise of the loss are measured on, once",
                 .details = "They may not have 64 tokens in a row in common with the text",
                 .expects = "a file",
                 .none = "none"});
  return all;
}

void CalibrationCommand::check(const RunOptions& run, const ScanOptions& scan,
                               const HeadSource& source, const std::string& plan) {
  if (!asked() && confirm.empty()) return;
  if (!asked() || confirm.empty()) {
    throw UsageError(fault("converge", "--tolerance-nats and --confirm together",
                           asked() ? "no --confirm" : "no --tolerance-nats",
                           "add --tolerance-nats 0.01 --confirm b.txt"));
  }
  if (!plan.empty()) {
    throw UsageError(fault("--tolerance-nats", "the model as it is", "--plan beside it",
                           "leave one of the two out"));
  }
  if (!source.info().has_loss) {
    throw UnsupportedError(fault("--tolerance-nats", "a model with a loss",
                                 source.info().name + ", which has none",
                                 "use --tolerances, which are about the output"));
  }
  learn_ = load_whole_documents(run.input);
  unseen_ = load_whole_documents(with_files(run.input, confirm));
  if (share_tokens(learn_, unseen_)) {
    throw UsageError(fault("--confirm", "other texts than that of the budgets",
                           "some that have tokens in common with it",
                           "what is learned on a text must not be judged on it"));
  }
  require_apart(learn_, run.input.texts.empty() ? "--tokens" : "--text");
  require_apart(unseen_, "--confirm");
  const Index tokens = longest_length(scan, source.info());
  for (const auto& [texts, option] : {std::pair{&learn_, "--text"}, {&unseen_, "--confirm"}}) {
    const std::size_t pieces = spread_pieces(*texts, tokens, kPieces).size();
    if (pieces >= 2) continue;
    throw BadInputError(fault(option, fmt::format("at least 2 pieces of {} tokens", tokens),
                              fmt::format("{}", pieces), "give more text, or a smaller --lengths"));
  }
}

void CalibrationCommand::run(const RunOptions& run, const ScanOptions& scan, Results& results,
                             Progress* progress, const std::stop_token& stop) {
  if (!asked() || results.partial) return;
  const auto tokens = static_cast<Index>(results.coord_numbers("length").back());
  std::vector<Document> learn = spread_pieces(learn_, tokens, kPieces);
  std::vector<Document> unseen = spread_pieces(unseen_, tokens, kPieces);
  const auto learned_on = open_documents(run.input, std::move(learn));
  const auto confirmed_on = open_documents(run.input, std::move(unseen));
  calibrate.seed = scan.seed;
  calibrate.threads = scan.threads;
  plans_ = calibrate_budgets({*learned_on, *confirmed_on}, calibrate, results, progress, stop);
}

std::vector<std::string> CalibrationCommand::save(const std::string& folder) const {
  std::vector<std::string> written;
  for (const MadePlan& made : plans_) {
    if (std::ranges::none_of(made.plan.heads, &HeadPlan::changes)) continue;
    written.push_back(plan_file(folder, made.budget));
    write_plan(made.plan, written.back());
  }
  return written;
}

std::string render_calibration(const Results& results, const TableOptions& options) {
  const LabelledArray* tolerance = results.metric("tolerance_for_rise");
  if (tolerance == nullptr) return "";
  const Painter paint(options.color);
  std::string out = paint(Style::bold, "budgets for a rise of the loss") +
                    paint(Style::faint, ": all heads at once, measured on the texts of --confirm") +
                    "\n";
  constexpr std::size_t kWidths[] = {8, 11, 8, 32, 12};
  const auto line = [&](Style style, std::vector<std::string> cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) out += paint.right(style, cells[i], kWidths[i]);
    out += "\n";
  };
  line(Style::faint, {"nats", "tolerance", "cache", "loss change, 95 % interval", "stays below"});
  for (Index r = 0; r < results.coord_size("rise"); ++r) {
    const double rise = results.coord_numbers("rise")[static_cast<std::size_t>(r)];
    const double found = (*tolerance)({r});
    if (found < 0) {
      line(Style::plain, {fmt::format("{:g}", rise), "none"});
      continue;
    }
    const auto p = find_cell(results, "calibrated_loss_change_p", {{"rise", r}});
    line(Style::plain, {fmt::format("{:g}", rise), fmt::format("{:.0f} %", 100 * found),
                        fmt::format("{:.0f} %", 100 * results.at("calibrated_cache_share", {r})),
                        fmt::format("{} ({} to {})", nats(results, "calibrated_loss_change", r),
                                    nats(results, "calibrated_loss_change_low", r),
                                    nats(results, "calibrated_loss_change_high", r)),
                        p && p->value <= kShown ? "shown" : "not shown"});
  }
  return out + "\n";
}

}  // namespace headgauge::cli
