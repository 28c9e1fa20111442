// Draws the standard figures as SVG, with the script of web/.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/strict_json.hpp"
#include "headgauge/files.hpp"
#include "headgauge/report.hpp"
#include "report/bundle.hpp"
#include "report/data.hpp"
#include "report/engine.hpp"

namespace headgauge {

std::vector<Drawing> draw_figures(const Results& results, Theme theme) {
  report::require_bundle();
  const std::vector<report::PageMetric> metrics = report::page_metrics(results);
  const auto load = [&](std::string_view element) -> std::string {
    if (element == "theme") return theme == Theme::dark ? "dark" : "light";
    const auto found = std::ranges::find(metrics, element, &report::PageMetric::element);
    return found == metrics.end() ? "" : report::numbers_text(found->array);
  };
  const std::string drawn =
      report::run_figures(report::figures_script(), report::overview_text(results, metrics), load);
  std::vector<Drawing> drawings;
  for (const auto& one : parse_json(drawn, "figures")) {
    std::string svg = one.at("svg");
    svg.replace(0, std::string_view("<svg").size(), kFigureMark);
    drawings.push_back({one.at("name"), one.at("title"), std::move(svg)});
  }
  return drawings;
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

}  // namespace headgauge
