#include "cli/tables.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <regex>
#include <sstream>

#include "cli/screen.hpp"
#include "cli/table_header.hpp"
#include "cli/table_style.hpp"
#include "faults.hpp"
#include "findings/scanned_results.hpp"

namespace headgauge::cli {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// The labels of the heads in the order of the rows.
std::vector<std::string> heads_in(const std::string& table) {
  std::vector<std::string> heads;
  const std::regex row("^ *([0-9]+\\.[0-9]+)  .*");
  for (const std::string& line : lines_of(table)) {
    std::smatch match;
    if (std::regex_match(line, match, row)) heads.push_back(match[1]);
  }
  return heads;
}

using Heads = std::vector<std::string>;

TEST(Table, ReadsAsItShould) {
  EXPECT_EQ(render_table(scanned_results(), {}),
            R"(layer  entropy   eff.    max  sinks    back   90 %   sep.  rand.  crit.  roles, flags
.head   of max   keys    key  share  tokens   keys   N=20   N=20      N
  0.0     1.00    512   0.01   0.01     256    462   0.21   0.44   >128  wide
  0.1     0.92    290   0.01   0.71     120    300   0.83   0.45     11  sinks wide
  0.2     0.03   1.20   0.97   0.00    1.04   1.00   0.64   0.46      1

  1.0     0.22   3.46   0.55   0.05     232   7.25   0.98   0.47      5
  1.1     0.00   1.00   1.00   0.00    0.10   1.00   0.40   0.50      -
  1.2     0.73    120   0.10   0.02     100    200   0.62   0.41     45  wide

)");
}

TEST(Screen, SaysWhatWasMeasured) {
  Results r = scanned_results();
  EXPECT_EQ(render_head(r, 80),
            "tiny   gpt2, 2 layers x 3 heads\n"
            "moss.txt   1154 tokens   loss 4.30 nats (perplexity 73.7)   0 s\n");
  r.model.kv_heads = 2;
  r.model.trained_length = 2048;
  expect_part(render_head(r, 80), "2 KV heads each\n");
  expect_part(render_head(r, 80),
              "\nKV cache   512 bytes a token in 16 bits, 1.05 MB at the trained 2048 tokens\n");
  r.set_coord("window", std::vector<double>{0, 512});
  expect_part(render_head(r, 80), "1 of 2 layers see 512 tokens, all but 0\n");
  expect_part(render_head(r, 80), ", 655 kB at the trained 2048 tokens\n");
  r.model.head_dim = 0;  // there are scores alone
  expect_no_part(render_head(r, 80), "KV cache");
}

TEST(Screen, SaysWhatAPatternCosts) {
  Results r = scanned_results();
  r.settings["pattern"] = "sinks:window=64";
  set_heads(r, "kept_mass", "1", {.5, .6, .7, .8, .9, .7});
  set_heads(r, "output_change", "1", {.1, .2, kUndefined, .4, .5, .3});
  const std::string table = render_screen(r, {.table = true}, "", {});
  expect_part(table, "\nmeasured with   pattern sinks:window=64\n");
  expect_part(table, "The loss by length\nlength  loss\n");
  expect_part(table, "\n64           0.35        0.15\n1024         0.70        0.30\n");
  r.settings["pattern"] = "none";
  expect_no_part(render_head(r, 80), "measured with");
}

TEST(Table, HasNoColumnOfSetsWhereNoNIsJudged) {
  Results r = scanned_results();
  expect_part(render_table(r, {}), "N=20");
  r.set_coord("top_n", std::vector<double>{1, 21, 100});
  std::ranges::fill(r.metric("separability")->values, .5);
  const std::string table = render_table(r, {});
  expect_no_part(table, "N=");
  expect_no_part(table, "sep.");
}

TEST(Table, FitsIn100ColumnsWhateverTheValues) {
  Results r = scanned_results();
  r.model.name = std::string(300, 'm');
  r.set_coord("layer", std::vector<double>{46, 47});
  r.set_coord("head", std::vector<double>{22, 23, 24});
  for (auto& [name, metric] : r.metrics) {
    for (double& value : metric.values) value = value < 0 ? value : 32768;
  }
  r.flags.clear();
  for (const FlagInfo& info : flag_infos())
    r.flags.push_back({info.name, 46, 22, 1, 1, 1, "", "", {}});
  std::vector<std::string> sorts = {""};
  for (const auto& [name, metric] : r.metrics) {
    if (metric.dim_names() == std::vector<std::string>{"layer", "head", "length"}) {
      sorts.push_back(name);
    }
  }
  for (const std::string& sort : sorts) {
    for (const std::string& line : lines_of(render_table(r, {.sort = sort}))) {
      EXPECT_LE(text_width(line), 100u) << line;
    }
  }
}

TEST(Table, FlagsThatDoNotFitAreCounted) {
  const TableOptions options{.sort = "jacobian_frobenius"};  // takes room of its own
  const std::string table = render_table(scanned_results(), options);
  expect_part(table, "  sinks wide\n");
  Results r = scanned_results();
  for (const char* name : {"wide", "induction", "slow", "dormant"}) {
    r.flags.push_back({name, 1, 0, 1, 1, 1, "", "", {}});
  }
  expect_part(render_table(r, options), "  induction dormant +2\n");  // roles first
}

TEST(Table, SortsByAnyMetricOfAHeadLargestFirstUndefinedLast) {
  TableOptions options{.sort = "jacobian_frobenius"};  // no column of its own otherwise
  const std::string table = render_table(scanned_results(), options);
  EXPECT_EQ(heads_in(table), (Heads{"1.0", "0.1", "1.2", "0.2", "0.0", "1.1"}));
  expect_part(table, "layer   jacobian  entropy");
  expect_part(table, ".head  frobenius   of max");
  options.sort = "separability";
  EXPECT_EQ(heads_in(render_table(scanned_results(), options)).front(), "1.0");
}

TEST(Table, TopShowsTheFirstAndSaysSo) {
  TableOptions options{.top = 2, .sort = "sink_weight"};
  const std::string table = render_table(scanned_results(), options);
  EXPECT_EQ(heads_in(table), (Heads{"0.1", "1.0"}));
  expect_part(table, "\n2 of 6 heads are shown\n");
  options.top = 6;
  expect_no_part(render_table(scanned_results(), options), "are shown");
}

// A model of 72 heads.
TEST(Table, ManyHeadsAreFoldedUnlessRowsAreAskedFor) {
  Results r = scanned_results();
  std::vector<double> layers(12), heads(6);
  std::iota(layers.begin(), layers.end(), 0);
  std::iota(heads.begin(), heads.end(), 0);
  r.metrics.clear();
  r.set_coord("layer", layers);
  r.set_coord("head", heads);
  LabelledArray& share = r.add_metric("sink_weight", {"layer", "head", "length"}, "1");
  for (std::size_t i = 0; i < share.values.size(); ++i) share.values[i] = .01 * double(i / 2);
  r.flags = find_flags(r);
  r.flags.push_back({"induction", 7, 3, 1024, .8, .4, "", "", {}});
  const std::string folded = render_table(r, {});
  EXPECT_TRUE(heads_in(folded).empty()) << folded;
  expect_part(folded, "72 heads: --all shows each");
  r.command = Command::scan;
  const std::string screen = render_screen(r, {}, "", {});
  expect_part(screen,
              "What the 72 heads do on this text (1 does several; 7.3 = layer 7, head 3)\n");
  expect_part(screen, "\n41  sinks      over 30 % of the weight");
  expect_part(screen, "\n 1  induction  what followed such a copy  7.3\n");
  EXPECT_LE(lines_of(screen).size(), 25u);
  for (const std::string& line : lines_of(screen)) EXPECT_LE(text_width(line), 80u) << line;
  TableOptions all;
  all.all = true;
  EXPECT_EQ(heads_in(render_table(r, all)).size(), 72u);
  TableOptions top;
  top.top = 3;
  EXPECT_EQ(heads_in(render_table(r, top)).size(), 3u);
}

TEST(Table, UnknownSortListsWhatThereIs) {
  TableOptions options;
  for (const char* name : {"beauty", "loss", "sensitivity"}) {
    options.sort = name;
    const std::string message =
        thrown<UsageError>([&] { render_table(scanned_results(), options); });
    expect_part(message, "entropy_normalized, effective_tokens");
    expect_part(message, name);
  }
}

TEST(Table, ColourChangesNothingButTheCodes) {
  TableOptions options;
  options.color = true;
  const std::string coloured = render_table(scanned_results(), options);
  expect_part(coloured, "\x1b[33m");
  EXPECT_EQ(std::regex_replace(coloured, std::regex("\x1b\\[[0-9]+m"), ""),
            render_table(scanned_results(), {}));
}

TEST(Table, ColumnsWithoutAnyValueAreLeftOut) {
  Results r = scanned_results();
  for (double& value : r.metric("separability_null")->values) value = kUndefined;
  const std::string table = render_table(r, {});
  expect_no_part(table, "rand.");
  expect_part(table, "sep.");
}

TEST(Table, WithoutAnyColumnOrFlagASentenceStandsInItsPlace) {
  Results results = scanned_results();
  std::erase_if(results.metrics, [](const auto& entry) {
    return entry.first != "sensitivity" && entry.first != "loss";
  });
  const std::string flagged = render_table(results, {});
  EXPECT_FALSE(heads_in(flagged).empty());  // there are flags to show
  results.flags.clear();
  const std::string table = render_table(results, {});
  expect_part(table, "No table of heads, for none of the groups dispersion, distance, roles");
  expect_no_part(table, ".head");
  std::erase_if(results.metrics, [](const auto& entry) { return entry.first == "sensitivity"; });
  EXPECT_EQ(render_table(results, {}), table);  // not even a head
}

TEST(Table, HeadsThatWereNotMeasuredHaveNoRow) {
  Results r = scanned_results();
  for (auto& [name, metric] : r.metrics) {
    if (metric.dim_names().size() < 2) continue;
    const std::size_t run = metric.values.size() / 6;
    for (std::size_t k = 0; k < run; ++k) metric.values[2 * run + k] = kUndefined;
  }
  EXPECT_EQ(heads_in(render_table(r, {})), (Heads{"0.0", "0.1", "1.0", "1.1", "1.2"}));
}

TEST(Table, SurvivesResultsWithNothingInThem) {
  EXPECT_EQ(heads_in(render_table(Results{}, {})), Heads{});
  Results r = scanned_results();
  r.metrics.clear();
  r.model = {};
  r.text = {};
  EXPECT_EQ(heads_in(render_table(r, {})), Heads{});
}

TEST(Table, ASearchEndsBeforeTheLength) {
  Results r = scanned_results();
  r.settings["critical_max"] = 5000;
  expect_part(render_table(r, {}), " >1023 ");
}

TEST(Screen, CountsOneInTheSingular) {
  Results r = scanned_results();
  r.model.layers = r.model.heads = 1;
  r.text.tokens = {1};
  r.partial = true;
  r.layers_done = 1;
  const std::string head = render_head(r, 80);
  for (const char* part :
       {"1 layer x 1 head\n", "   1 token ", "interrupted   1 layer measured\n"}) {
    expect_part(head, part);
  }
}

TEST(Screen, FitsANarrowTerminal) {
  for (const std::size_t width : {40, 60, 80}) {
    TableOptions options;
    options.width = width;
    for (const std::string& line : lines_of(render_screen(scanned_results(), options, "", {}))) {
      EXPECT_LE(text_width(line), width) << line;
    }
  }
}

TEST(Screen, NamesCannotMoveTheCursor) {
  Results r = scanned_results();
  r.model.name = "evil\x1b[2Jname";
  const std::string head = render_head(r, 80);
  EXPECT_EQ(head.find('\x1b'), std::string::npos);
  expect_part(head, "evil\\x1b[2Jname");
}

TEST(Screen, ExplainsWhatStandsOnIt) {
  Results r = scanned_results();
  r.command = Command::scan;
  const std::string answer = render_screen(r, {.explain = true}, "", {});
  expect_part(answer, "\nsinks    1 of 6 heads: more than 0.3 of its weight on sinks.");
  expect_no_part(answer, "wide");
  const std::string all = render_screen(r, {.table = true, .explain = true}, "", {});
  expect_part(all, "\nwide     3 of 6 heads: ");
  expect_part(all, "\nrand.    The separability beyond the sinks");
}

TEST(TableStyle, WidthCountsCharactersNotBytes) {
  EXPECT_EQ(text_width("caf\u00e9"), 4u);
  EXPECT_EQ(shortened("caf\u00e9s", 5), "caf\u00e9s");
  EXPECT_EQ(shortened("caf\u00e9s", 4), "caf\u2026");
}

TEST(Wrapped, BreaksBetweenWordsAndIndentsWhatFollows) {
  EXPECT_EQ(wrapped("one two three", 100, 2), "one two three");
  EXPECT_EQ(wrapped("one two three", 7, 2), "one two\n  three");
  EXPECT_EQ(wrapped("one two three", 6, 2), "one\n  two\n  three");
  EXPECT_EQ(wrapped("one unbreakable", 5, 1), "one\n unbreakable") << "a long word is left whole";
  EXPECT_EQ(wrapped("\u00e4\u00f6 \u00fc", 4, 0), "\u00e4\u00f6 \u00fc") << "characters, not bytes";
  EXPECT_EQ(wrapped("", 10, 2), "");
}

}  // namespace
}  // namespace headgauge::cli
