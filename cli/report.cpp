// headgauge report: draws results as a page, as SVG files or as Markdown.
#include "headgauge/report.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "cli/commands.hpp"
#include "cli/print.hpp"
#include "cli/run.hpp"
#include "cli/stop.hpp"
#include "headgauge/files.hpp"
#include "headgauge/text.hpp"
#include "headgauge/view.hpp"

namespace headgauge::cli {
namespace {

namespace fs = std::filesystem;

struct ReportCommand {
  std::string results;
  std::string format = "html";
  std::string out;
  bool quiet = false;
};

bool is_folder(const fs::path& path) {
  std::error_code ignored;  // opening the file reports the error
  return fs::is_directory(path, ignored);
}

fs::path beside(const std::string& results, const char* name) {
  const fs::path path(results);
  return (is_folder(path) ? path : path.parent_path()) / name;
}

// The results of all slow steps; a signal during them ends the program with one line.
struct Drawn {
  Results results;
  std::vector<Drawing> pictures;
};

Drawn read_and_draw(const ReportCommand& options, const std::string& input) {
  const auto signal = end_on_signal();
  Drawn drawn{read_results(input), {}};
  const Theme theme = options.format == "svg-dark" ? Theme::dark : Theme::light;
  if (options.format.starts_with("svg")) drawn.pictures = draw_figures(drawn.results, theme);
  signal->loaded();
  return drawn;
}

// Writes one file: to --out, which may be a folder, or beside the results.
std::vector<std::string> write_file(const ReportCommand& options, const std::string& input,
                                    const Results& results) {
  const bool page = options.format == "html";
  const char* const name = page ? kReportFile : kMarkdownFile;
  fs::path path = options.out.empty() ? beside(options.results, name) : fs::path(options.out);
  if (!path.has_filename() || is_folder(path)) path /= name;
  require_unread(path.string(), {input});
  std::optional<MadeFolder> folder;
  if (path.has_parent_path()) folder.emplace(path.parent_path().string(), kOutAdvice);
  if (page) {
    write_report(results, path.string());
  } else {
    AtomicFile file(path.string());
    file.write(view::to_markdown(results));
    file.commit();
  }
  return {path.string()};
}

std::vector<std::string> write_pictures(const ReportCommand& options,
                                        const std::vector<Drawing>& pictures) {
  const std::string path =
      options.out.empty() ? beside(options.results, kFiguresFolder).string() : options.out;
  const MadeFolder folder(path, kOutAdvice);
  return write_drawings(pictures, path);
}

int run(const ReportCommand& options) {
  const std::string input = results_file(options.results);
  const Drawn drawn = read_and_draw(options, input);
  const auto paths = options.format.starts_with("svg") ? write_pictures(options, drawn.pictures)
                                                       : write_file(options, input, drawn.results);
  if (options.quiet) return 0;
  if (paths.empty())
    print("No figure was made: {} has too few values for any\n", legible(options.results));
  for (const std::string& path : paths) print("Written: {}\n", legible(path));
  return 0;
}

}  // namespace

void add_report(CommandNode& app) {
  const auto o = std::make_shared<ReportCommand>();
  app.add({.name = "report",
           .about = "Make a web page, figures or Markdown of results",
           .example = "Example: headgauge report demo/out\n"
                      "         headgauge report demo/out/results.json --format svg --out figures\n"
                      "         headgauge report monitor.jsonl",
           .operands = {{.name = "RESULTS",
                         .help = "A results.json, its folder, or a monitor's records (.jsonl)",
                         .value = &o->results,
                         .expects = "a results file"}},
           .options = declared_options(
               "ReportCommand", {{"format", &o->format}, {"out", &o->out}, {"quiet", &o->quiet}}),
           .run = [=](const CommandNode&) { return run(*o); }});
}

}  // namespace headgauge::cli
