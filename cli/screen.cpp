#include "cli/screen.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "cli/run_lines.hpp"
#include "cli/table_header.hpp"
#include "cli/table_style.hpp"
#include "cli/text_table.hpp"
#include "headgauge/advice.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/results_folder.hpp"
#include "headgauge/text.hpp"
#include "headgauge/view.hpp"

namespace headgauge::cli {
namespace {

constexpr std::size_t kScreenWidth = 80;
constexpr std::size_t kScreenLines = 30, kScanLines = 25;
constexpr std::size_t kIndent = 4;
constexpr std::size_t kUsualFiles = 2;  // results.json and heads.csv
constexpr Index kMostChanges = 8;       // of a diff

std::size_t lines_in(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

bool compares_runs(const Results& results) {
  return results.command == Command::diff || results.command == Command::series;
}

std::string head_of(const Results& results, const TableOptions& options) {
  return compares_runs(results) ? render_runs(results, Painter(options.color), options.width)
                                : render_head(results, options.width);
}

std::vector<view::Table> lead_tables(const Results& results) {
  std::vector<view::Table> tables = view::tables(results);
  if (results.command == Command::diff) tables = view::change_tables(results, kMostChanges);
  if (!results.claims.empty()) tables = {claims_table(results, false)};
  std::erase_if(tables, [](const view::Table& table) { return !table.lead; });
  return tables;
}

// Draws as many rows of the table as fit into the lines, and at least one.
std::string draw_within(view::Table table, const TableOptions& options, std::size_t lines) {
  std::string text = draw_table(table, options, kScreenWidth);
  while (lines_in(text) > lines && table.rows.size() > 1) {
    table.rows.pop_back();
    ++table.left_out;
    text = draw_table(table, options, kScreenWidth);
  }
  return text;
}

// Returns the sentences that are part of the answer; all if none is.
std::vector<const SummaryLine*> lead_sentences(const Results& results) {
  const bool any = std::ranges::count(results.summary, true, &SummaryLine::lead) > 0;
  std::vector<const SummaryLine*> lines;
  for (const SummaryLine& line : results.summary) {
    if (line.lead || !any) lines.push_back(&line);
  }
  return lines;
}

// Returns what to run next: the command of the last sentence that has one, with MODEL and FILE in
// place of names for which there is no room.
std::string next_line(const Results& results, const std::vector<const SummaryLine*>& lines,
                      std::size_t width) {
  std::string command;
  for (const SummaryLine* line : lines) {
    if (!line->next.empty()) command = "Next: " + legible(command_in(line->next));
  }
  if (text_width(command) > width) {
    const auto put = [&](const std::string& name, const char* by) {
      const auto at = name.empty() ? command.npos : (command + " ").find(" " + name + " ");
      if (at != command.npos) command.replace(at + 1, name.size(), by);
    };
    put(results.model.name.value_or(""), "MODEL");
    for (const std::string& name : results.text.names) put(name, "FILE");
  }
  return command.empty() ? "" : command + "\n";
}

// Names the files that were written.
std::string written_line(const std::vector<std::string>& files, std::size_t width) {
  if (files.empty()) return "";
  const std::string names = fmt::format("Written: {}", fmt::join(files, ", "));
  return hanging(legible(names), width, 2) + "\n";
}

std::string foot_of(const std::string& out, const std::vector<std::string>& files,
                    std::size_t width) {
  const bool drawn = std::ranges::any_of(
      files, [](const std::string& file) { return file.ends_with(kReportFile); });
  std::string text =
      hanging("More, if run again: --table has every number, --explain what the words mean.", width,
              2) +
      "\n";
  if (drawn || files.size() > kUsualFiles) return text + written_line(files, width);
  if (files.empty()) return text;
  const std::string pictures = "Written to {0}; in pictures: headgauge report {0}";
  return text + fmt::format(fmt::runtime(pictures), legible(out)) + "\n";
}

// The answer of a command: its head, its lead tables and sentences, and what to do next.
std::string answer(const Results& results, const TableOptions& options, const std::string& out,
                   const std::vector<std::string>& files) {
  const std::size_t limit = results.command == Command::scan ? kScanLines : kScreenLines;
  const auto sentences = lead_sentences(results);
  const std::string foot =
      next_line(results, sentences, options.width) + foot_of(out, files, options.width);
  // Room that tables leave to sentences.
  std::size_t kept = 0;
  for (const SummaryLine* line : sentences) {
    if (line->lead) kept += lines_in(wrapped(legible(line->text), options.width, 2)) + 1;
  }
  kept = std::min(kept, limit / 3);
  std::string text;
  for (const std::string gap : {"\n", ""}) {  // without blank lines if there is no room for them
    bool complete = true;
    text = head_of(results, options) + gap;
    const auto room = [&](std::size_t others = 0) {
      const std::size_t used = lines_in(text) + lines_in(foot) + gap.size() + others;
      return used < limit ? limit - used : 0;
    };
    const auto add_sentences = [&] {
      for (const SummaryLine* line : sentences) {
        const std::string words = wrapped(legible(line->text), options.width, 2) + "\n";
        complete = complete && lines_in(words) <= room();
        if (lines_in(words) <= room()) text += words;
      }
      text += gap;
    };
    const bool counts = !results.claims.empty();  // what the table lists
    if (counts) add_sentences();
    for (const view::Table& table : lead_tables(results)) {
      const std::size_t lines = room(gap.size() + (counts ? 0 : kept));
      complete = complete && lines_in(draw_table(table, options, kScreenWidth)) <= lines;
      text += draw_within(table, options, lines) + gap;
    }
    if (!counts) add_sentences();
    text += foot;
    if (complete) break;
  }
  const bool maps = options.color && results.command == Command::scan;
  return maps ? head_map(results, options) + "\n" + text : text;
}

// Each sentence is followed by its meaning and the command to run next, indented; neighbouring
// sentences that share these have them below the last one.
std::string findings(const Results& results, const TableOptions& options) {
  const Painter paint(options.color);
  const std::vector<SummaryLine>& lines = results.summary;
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    text += wrapped(legible(lines[i].text), options.width, 2) + "\n";
    for (const auto words : {&SummaryLine::means, &SummaryLine::next}) {
      const bool goes_on = i + 1 < lines.size() && lines[i + 1].*words == lines[i].*words;
      if ((lines[i].*words).empty() || goes_on) continue;
      text += std::string(kIndent, ' ') +
              paint(Style::faint, hanging(legible(lines[i].*words), options.width, kIndent)) + "\n";
    }
  }
  return text;
}

std::string all_tables(const Results& results, const TableOptions& options) {
  std::string text = head_of(results, options) + "\n";
  if (results.command == Command::scan) text += render_table(results, options);
  if (!results.claims.empty())
    return text + draw_table(claims_table(results, true), options, kTableWidth) + "\n";
  if (results.command == Command::diff) return text + render_changes(results, options);
  return text + render_view(results, options);
}

}  // namespace

std::string render_screen(const Results& results, const TableOptions& options,
                          const std::string& out, const std::vector<std::string>& files) {
  TableOptions narrow = options;
  narrow.width = std::min(options.width, kScreenWidth);
  std::string text;
  if (options.table) {
    text = all_tables(results, options) + findings(results, options) + (files.empty() ? "" : "\n") +
           written_line(files, options.width);
  } else {
    text = answer(results, narrow, out, files);
  }
  return options.explain ? text + "\n" + explanations(results, text, options) : text;
}

}  // namespace headgauge::cli
