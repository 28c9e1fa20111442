// Draws the standard figures as SVG, with the script of web/.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/file.hpp"
#include "base/strict_json.hpp"
#include "headgauge/files.hpp"
#include "headgauge/report.hpp"
#include "report/bundle.hpp"
#include "report/data.hpp"
#include "report/engine.hpp"

namespace headgauge {
namespace {

// The beginning of every figure that headgauge writes.
constexpr std::string_view kMark = "<svg data-by=\"headgauge\"";
constexpr std::string_view kPageTitle = "<title>headgauge</title>";
constexpr std::size_t kPageHead = 2048;  // bytes that include the title

}  // namespace

std::vector<Drawing> draw_figures(const Results& results) {
  report::require_bundle();
  const auto load = [&](std::string_view element) {
    std::size_t k = 0;
    for (const auto& [name, metric] : results.metrics) {
      if (report::element_name(k++) == element) return report::numbers_text(metric);
    }
    return std::string();
  };
  const std::string drawn =
      report::run_figures(report::figures_script(), report::overview_text(results), load);
  std::vector<Drawing> drawings;
  for (const auto& one : parse_json(drawn, "figures")) {
    std::string svg = one.at("svg");
    svg.replace(0, std::string_view("<svg").size(), kMark);
    drawings.push_back({one.at("name"), one.at("title"), std::move(svg)});
  }
  return drawings;
}

std::vector<std::string> write_figures(const Results& results, const std::string& folder) {
  return write_drawings(draw_figures(results), folder);
}

std::vector<std::string> write_drawings(const std::vector<Drawing>& drawings,
                                        const std::string& folder) {
  AtomicFiles files(folder);
  std::vector<std::string> paths;
  for (const Drawing& drawing : drawings) {
    AtomicFile& file = files.add(drawing.name + ".svg");
    file.write(drawing.svg);
    paths.push_back(file.path());
  }
  files.commit();
  return paths;
}

void remove_drawings(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code none;  // a missing file needs no removal
  const fs::path page = fs::path(folder) / kReportFile, figures = fs::path(folder) / kFiguresFolder;
  if (beginning_of(page.string(), kPageHead).find(kPageTitle) != std::string::npos) {
    fs::remove(page, none);
  }
  if (fs::is_symlink(fs::symlink_status(figures, none))) return;
  for (const auto& entry : fs::directory_iterator(figures, none)) {
    const bool svg = entry.path().extension() == ".svg";
    if (svg && beginning_of(entry.path().string(), kMark.size()) == kMark) {
      fs::remove(entry.path(), none);
    }
  }
}

}  // namespace headgauge
