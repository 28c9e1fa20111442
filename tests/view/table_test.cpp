// Tables that are made from a declaration, on results made by hand.
#include "view/declared_table.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <stdexcept>

#include "headgauge/catalogue.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"

namespace headgauge::view {
namespace {

using Texts = std::vector<std::string>;

// Two patterns beside the original, at two lengths: the loss of text and of a task, in nats.
Results comparison() {
  Results r;
  r.command = Command::compare;
  r.set_coord("pattern", Texts{"original", "window:size=4", "topk:k=2"});
  r.set_coord("length", std::vector<double>{16, 32});
  r.set_coord(kOutcome, Texts{kText, "keys"});
  LabelledArray& change = r.add_metric(metric::loss_change, {"pattern", kOutcome, "length"}, "nats")
                              .with_standard_errors()
                              .with_intervals()
                              .with_p();
  for (Index k = 0; k < 3; ++k) {
    const auto size = static_cast<double>(k);
    change.set({k, 0, 0}, {.value = 9});
    change.set({k, 0, 1}, {.value = size / 4,
                           .standard_error = 0.125,
                           .low = size / 8,
                           .high = size / 2,
                           .p = k == 1 ? 0.04 : 0.06});
    change.set({k, 1, 1}, {.value = -size});
  }
  r.add_metric(metric::does_task, {kOutcome}, "1").values = {kUndefined, 0};
  LabelledArray& right = r.add_metric(metric::answer_right, {"pattern", kOutcome}, "1").with_rows();
  for (Index k = 0; k < 3; ++k) right.set({k, 1}, {.value = 0.5, .rows = 8});
  return r;
}

Table only(const Results& results, const std::string& declaration,
           std::optional<Index> most = std::nullopt) {
  const auto made =
      make_tables(results, read_table(nlohmann::json::parse(declaration), "tests"), most);
  EXPECT_EQ(made.size(), 1u);
  return made.empty() ? Table() : made.front();
}

Texts texts(const std::vector<Cell>& row) {
  Texts all;
  for (const Cell& cell : row) all.push_back(cell.text);
  return all;
}

Texts titles(const Table& table) {
  Texts all;
  for (const Column& column : table.columns) all.push_back(column.title);
  return all;
}

TEST(DeclaredTable, HasARowForEachLabelAndTheLongestLength) {
  const Table table = only(comparison(), R"({"name": "t", "title": "T", "rows": ["change"],
    "columns": [{"metric": "loss_change", "title": "change", "show": "nats", "error": true,
                 "not_first": true}],
    "notes": ["{length} lengths"]})");
  EXPECT_EQ(titles(table), (Texts{"pattern", "change"}));
  ASSERT_EQ(table.rows.size(), 3u);
  EXPECT_EQ(texts(table.rows[0]), (Texts{"original", ""}));
  EXPECT_EQ(texts(table.rows[2]), (Texts{"topk:k=2", "+0.5000 ± 0.1250"}));
  EXPECT_EQ(table.rows[2][1].value, 0.5);
  EXPECT_EQ(table.notes, Texts{"2 lengths"});
}

TEST(DeclaredTable, WritesIntervalsAndMarksWhatATestShows) {
  const Table table = only(comparison(), R"({"name": "t", "rows": ["change"],
    "columns": [{"metric": "loss_change", "title": "change", "show": "fixed", "interval": true,
                 "star": "p"}]})");
  EXPECT_EQ(table.rows[1][1].text, "0.25 (0.12 to 0.50)");
  EXPECT_EQ(table.rows[0][1].mark, Mark::none);
  EXPECT_EQ(table.rows[1][1].mark, Mark::strong);
  EXPECT_EQ(table.rows[2][1].mark, Mark::none) << "p is above .05";
}

TEST(DeclaredTable, ANumberThatRoundsToZeroHasNoMinus) {
  Results r = comparison();
  r.metric(metric::loss_change)->set({1, 0, 1}, {.value = -0.001, .standard_error = 0.002});
  for (const auto& [show, expected] :
       {std::pair("signed", "+0.00 ± 0.00"), std::pair("fixed", "0.00 ± 0.00"),
        std::pair("nats", "-0.0010 ± 0.0020")}) {
    const Table table = only(r, fmt::format(R"({{"name": "t", "rows": ["change"], "columns": [
             {{"metric": "loss_change", "title": "change", "show": "{}", "error": true}}]}})",
                                            show));
    EXPECT_EQ(table.rows[1][1].text, expected) << show;
  }
}

TEST(DeclaredTable, HasAColumnForEachTaskAndFaintRowsWhereItIsNotDone) {
  const Table table = only(comparison(), R"({"name": "t", "rows": ["tasks", "change"],
    "faint_unless": "does_task",
    "columns": [{"metric": "answer_right", "title": "cases", "part": "rows"},
                {"metric": "loss_change", "title": "of {}", "each": "tasks", "show": "signed"}]})");
  EXPECT_EQ(titles(table), (Texts{"task", "pattern", "cases", "of keys"}));
  EXPECT_EQ(texts(table.rows[1]), (Texts{"keys", "window:size=4", "8", "-1.00"}));
  for (const Cell& cell : table.rows[1]) EXPECT_EQ(cell.mark, Mark::faint);
}

TEST(DeclaredTable, IsMadeForEachLabelAndLeavesOutColumnsAndTablesWithoutValues) {
  Results results = comparison();
  results.metric(metric::loss_change)->values.assign(12, kUndefined);
  results.metric(metric::loss_change)->set({1, 1, 1}, {.value = 2});
  const auto made = make_tables(
      results, read_table(nlohmann::json::parse(R"({"name": "t", "title": "of {}", "for": "outcome",
        "rows": ["length"], "columns": [
          {"metric": "loss_change", "title": "{}", "each": "pattern", "show": "whole"},
          {"metric": "entropy_with_sinks", "title": "absent"}]})"),
                          "tests"));
  ASSERT_EQ(made.size(), 1u) << "nothing is known of text";
  EXPECT_EQ(made[0].label, "keys");
  EXPECT_EQ(made[0].title, "of keys");
  EXPECT_EQ(titles(made[0]), (Texts{"length", "window:"}));
  EXPECT_EQ(made[0].columns[1].unit, "size=4") << "parameters stand below the name";
  EXPECT_EQ(texts(made[0].rows[1]), (Texts{"32", "2"}));
  EXPECT_EQ(made[0].rows[0][1].mark, Mark::faint) << "-";
}

TEST(DeclaredTable, TakesTheNamedLabelAndSharesOfAnother) {
  const Table table = only(comparison(), R"({"name": "t", "rows": ["length"], "columns": [
    {"metric": "loss_change", "title": "{pattern}", "show": "percent",
     "at": {"pattern": "window:size=4"}, "ratio_to": "topk:k=2"},
    {"metric": "loss_change", "title": "absent", "at": {"pattern": "none of them"}}]})");
  EXPECT_EQ(titles(table), (Texts{"length", "window:size=4"}));
  EXPECT_EQ(texts(table.rows[1]), (Texts{"32", "50"}));
}

TEST(DeclaredTable, ANumberThatIsNoLabelDropsTheColumn) {
  const Table table = only(comparison(), R"({"name": "t", "rows": ["change"], "columns": [
    {"metric": "loss_change", "title": "known", "at": {"length": 32}},
    {"metric": "loss_change", "title": "absent", "at": {"length": 64}}]})");
  EXPECT_EQ(titles(table), (Texts{"pattern", "known"}));
}

// Two metrics of two heads over three steps.
Results steps() {
  Results r;
  r.command = Command::series;
  r.set_coord("layer", std::vector<double>{0});
  r.set_coord("head", std::vector<double>{0, 1});
  r.set_coord("step", std::vector<double>{1, 2, 4});
  r.set_coord("series_metric", Texts{"entropy_with_sinks", "mass"});
  r.add_metric(metric::entropy_with_sinks, {"layer", "head", "step"}, "nats").values = {1, 2, 3,
                                                                                        4, 5, 6};
  r.add_metric(metric::mass, {"layer", "head", "step"}, "1").values = {7, 8, 9, 1, 2, 3};
  LabelledArray& change =
      r.add_metric(metric::series_change, {"layer", "head", "series_metric"}, "1")
          .with_standard_errors()
          .with_p();
  change.set({0, 0, 0}, {.value = 2, .standard_error = 1, .p = 0.01});
  change.set({0, 0, 1}, {.value = 2, .standard_error = 0.5, .p = 0.01});
  change.set({0, 1, 0}, {.value = 2, .standard_error = 0.1, .p = 0.05});
  change.set({0, 1, 1}, {.value = 2, .standard_error = 0, .p = 0});
  return r;
}

TEST(DeclaredTable, ListsWhatATestShowsWithTheMetricThatTheRowNames) {
  Results results = steps();
  const std::string declaration = R"({"name": "t", "rows": ["heads", "series_metric"],
    "shown": "series_change", "columns": [{"metric": "series_change", "title": "p", "part": "p"},
      {"metric": "{series_metric}", "title": "last", "at": {"step": "last"}, "show": "digits4"}]})";
  const Table table = only(results, declaration);
  EXPECT_EQ(titles(table), (Texts{"head", "metric", "p", "last"}));
  ASSERT_EQ(table.rows.size(), 3u);
  EXPECT_EQ(texts(table.rows[0]), (Texts{"0.1", "mass", "exact", "3"}));
  EXPECT_EQ(texts(table.rows[1]), (Texts{"0.0", "mass", "0.01", "9"})) << "4 standard errors";
  EXPECT_EQ(texts(table.rows[2]), (Texts{"0.0", "entropy_with_sinks", "0.01", "3"}));
  results.settings["level"] = 0.1;
  EXPECT_EQ(only(results, declaration).rows.size(), 4u);
}

TEST(DeclaredTable, AShareOfALabelThatIsAbsentIsUnknown) {
  const auto made = make_tables(comparison(),
                                read_table(nlohmann::json::parse(R"({"name": "t",
    "rows": ["length"], "columns": [{"metric": "loss_change", "title": "share",
    "at": {"pattern": "window:size=4"}, "ratio_to": "none of them"},
    {"metric": "loss_change", "title": "change", "at": {"pattern": "window:size=4"}}]})"),
                                           "tests"),
                                0);
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(titles(made.front()), (Texts{"length", "change"}));
}

// What a label says is neither a place to fill in nor a command to the terminal.
TEST(DeclaredTable, LabelsAreWords) {
  Results r = comparison();
  r.set_coord(kOutcome, Texts{kText, "{level}\x1b[2J"});
  const Table table = only(r, R"({"name": "t", "rows": ["change"], "columns": [
    {"metric": "answer_right", "title": "{} right", "unit": "{length} {other}", "each": "tasks"}]})");
  EXPECT_EQ(titles(table), (Texts{"pattern", "{level}\\x1b[2J right"}));
  EXPECT_EQ(table.columns[1].unit, "2 {other}");
}

TEST(DeclaredTable, TheUnitOfAMetricStandsInTheCatalogue) {
  const auto of = [](const std::string& more) {
    return read_table(
        nlohmann::json::parse(R"({"name": "t", "rows": ["change"], "columns": [{"title": "t", )" +
                              more + "}]}"),
        "tests");
  };
  EXPECT_EQ(of(R"("metric": "loss_change")").columns[0].unit, "nats");
  EXPECT_EQ(of(R"("metric": "loss_change", "unit": "± se")").columns[0].unit, "± se");
  EXPECT_EQ(of(R"("metric": "answer_right")").columns[0].unit, "");
  EXPECT_EQ(of(R"("metric": "answer_right", "show": "percent1")").columns[0].unit, "%");
  EXPECT_THROW(of(R"("metric": "loss_change", "unit": "nats")"), std::logic_error);
}

TEST(ChangeTables, ListTheFirstAndCountThoseThatTheFileLacks) {
  Results r = comparison();
  r.changes.emplace();
  Change change{.metric = "m|n", .labels = {{"pattern", "a"}, {"layer", "3"}, {"head", "1"}}};
  change.cell = {1, 1};
  change.errors = HUGE_VAL;
  change.adjusted_p = 0;
  r.changes->measured = {change, change};
  r.changes->unmeasured = {change};
  r.changes->found = 9;
  const std::vector<Table> tables = change_tables(r, 1);
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(tables[0].rows[0][0].text, "3.1");
  EXPECT_EQ(tables[0].rows[0][6].text, "exact");
  EXPECT_EQ(tables[0].rows[0][6].value, 0) << "the surest stands first";
  EXPECT_EQ(tables[0].left_out, 1);
  EXPECT_EQ(tables[1].left_out, 6) << "9 were found, 3 are in the file";
  EXPECT_NE(to_markdown(r).find("| 3.1 | m\\|n | a |"), std::string::npos) << "a cell of its own";
}

TEST(Markdown, SaysWhatWasMeasured) {
  Results r = comparison();
  EXPECT_NE(to_markdown(r).find("-->\na model\n\n"), std::string::npos);
  r.model.name = "tiny";
  r.text.names = {"a.txt", "b.txt"};
  EXPECT_NE(to_markdown(r).find("tiny on a\\.txt\\, b\\.txt\n\n"), std::string::npos);
}

TEST(Markdown, HasTheSummaryAndTheTables) {
  Results r = steps();
  r.command = Command::series;
  r.summary.push_back({.text = "a|b *c* d_e __f__ ~~g~~ &lt; 1.5 https://h.i"});
  r.notices = {"rows\nleft"};
  r.partial = true;
  const std::string text = to_markdown(r);
  EXPECT_TRUE(text.find(", partial results\n\n- a\\|b \\*c\\* d_e \\_\\_f\\_\\_ \\~\\~g\\~\\~ "
                        "\\&lt\\; 1.5 https\\:\\/\\/h\\.i\n\n### ") != text.npos)
      << text;
  EXPECT_TRUE(text.ends_with("\nNote: rows\\\\x0aleft\n")) << text;
  EXPECT_NE(text.find("|---:|"), text.npos) << text;
  EXPECT_NE(text.find("\n| 0.1 | mass |"), text.npos) << text;
}

TEST(DeclaredTable, ADifferenceOfRunsHasNone) {
  Results r = comparison();
  EXPECT_FALSE(tables(r).empty());
  r.set_coord("run", Texts{"old", "new"});
  EXPECT_TRUE(tables(r).empty());
}

// Four heads under two patterns.
Results heads() {
  Results r;
  r.command = Command::compare;
  r.set_coord("layer", std::vector<double>{0, 3});
  r.set_coord("head", std::vector<double>{0, 1});
  r.set_coord("pattern", Texts{"original", "a", "b"});
  LabelledArray& change = r.add_metric(metric::loss_change, {"layer", "head", "pattern"}, "nats")
                              .with_standard_errors();
  change.values = {0, 1, 2, 0, 4, 3, 0, -1, kUndefined, 0, kUndefined, kUndefined};
  return r;
}

TEST(DeclaredTable, NamesHeadsAndTheirBestChange) {
  const std::string declaration = R"({"name": "t", "rows": ["heads"], "best": "loss_change",
    "columns": [{"metric": "loss_change", "title": "least", "show": "signed"}]})";
  const Table table = only(heads(), declaration);
  EXPECT_EQ(titles(table), (Texts{"head", "best pattern", "least"}));
  ASSERT_EQ(table.rows.size(), 3u) << "head 3.1 has no change";
  EXPECT_EQ(texts(table.rows[0]), (Texts{"0.0", "a", "+1.00"}));
  EXPECT_EQ(texts(table.rows[1]), (Texts{"0.1", "b", "+3.00"}));
  EXPECT_EQ(texts(table.rows[2]), (Texts{"3.0", "a", "-1.00"}));
  EXPECT_EQ(only(heads(), declaration, 2).left_out, 1);
  EXPECT_EQ(only(heads(), declaration, 0).left_out, 0);
}

TEST(DeclaredTable, SortsByTheLargestValueOfEitherSignAndStopsAtItsLimit) {
  const Table table = only(heads(), R"({"name": "t", "rows": ["layer", "head"], "sorted": true,
    "most": 2, "columns": [
      {"metric": "loss_change", "title": "{}", "each": "pattern", "show": "signed"}]})");
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.left_out, 2) << "head 3.1 has the change 0 of the original";
  EXPECT_EQ(texts(table.rows[0]), (Texts{"0", "1", "+0.00", "+4.00", "+3.00"}));
  EXPECT_EQ(texts(table.rows[1]), (Texts{"0", "0", "+0.00", "+1.00", "+2.00"}));
}

TEST(DeclaredTable, SortsByItsFirstMetric) {
  Results results = heads();
  results.add_metric(metric::kl, {"layer", "head"}, "nats").values = {90, 1, 2, 3};
  const Table table = only(results, R"({"name": "t", "rows": ["layer", "head"], "sorted": true,
    "columns": [{"metric": "loss_change", "title": "x", "over": "largest", "show": "signed"},
                {"metric": "kl", "title": "KL", "show": "digits"}]})");
  EXPECT_EQ(texts(table.rows[0]), (Texts{"0", "1", "+4.00", "1"}));
}

TEST(DeclaredTable, SummarisesWhatItDoesNotName) {
  const Table table = only(heads(), R"({"name": "t", "rows": ["change"], "columns": [
    {"metric": "loss_change", "title": "median", "over": "median", "show": "signed"},
    {"metric": "loss_change", "title": "largest", "over": "largest", "show": "signed"},
    {"metric": "loss_change", "title": "sum", "over": "sum", "show": "signed"},
    {"metric": "loss_change", "title": "mean", "over": "mean", "show": "fixed3"},
    {"metric": "loss_change", "title": "of heads", "over": "heads", "show": "fixed3"}]})");
  EXPECT_EQ(texts(table.rows[1]), (Texts{"a", "+1.00", "+4.00", "+4.00", "1.333", "1.333"}));
}

TEST(DeclaredTable, LeavesOutRowsThatItsMetricsDoNotJudge) {
  Results results = heads();
  results.add_metric(metric::retrieval_head, {"layer", "head"}, "1").values = {1, 0, kUndefined, 1};
  const auto rows = [&](const std::string& key) {
    return only(results, R"({"name": "t", "rows": ["heads"], ")" + key + R"(": "retrieval_head",
      "columns": [{"metric": "loss_change", "title": "x", "over": "sum"}]})")
        .rows.size();
  };
  EXPECT_EQ(rows("judges"), 3u);
  EXPECT_EQ(rows("only"), 2u);
}

TEST(DeclaredTable, IsMadeOnlyWhereItsMetricHasOrLacksADim) {
  const auto count = [](const Results& results, const std::string& condition) {
    return make_tables(
               results,
               read_table(
                   nlohmann::json::parse(
                       R"({"name": "t", "rows": ["change"], "judges": "loss_change", "columns": [
            {"metric": "loss_change", "title": "x", "over": "sum"}], )" +
                       condition + "}"),
                   "tests"))
        .size();
  };
  EXPECT_EQ(count(heads(), R"("has": "layer")"), 1u);
  EXPECT_EQ(count(heads(), R"("lacks": "layer")"), 0u);
  EXPECT_EQ(count(comparison(), R"("has": "layer")"), 0u);
  EXPECT_EQ(count(comparison(), R"("lacks": "layer")"), 1u);
}

TEST(DeclaredTable, FaultsInADeclarationAreNamed) {
  const auto refusal = [](const std::string& text) -> std::string {
    try {
      read_table(nlohmann::json::parse(text), "g");
    } catch (const std::logic_error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal(R"({"name": "t"})"), "catalogue: tables of g: \"rows\" is missing");
  EXPECT_EQ(refusal(R"({"name": "t", "rows": []})"), "catalogue: t: \"rows\" names no dim");
  EXPECT_EQ(refusal(R"({"name": "t", "rows": ["a"], "columns": [{"metric": "entropi"}]})"),
            "catalogue: columns of t: there is no metric \"entropi\"");
  EXPECT_EQ(refusal(R"({"name": "t", "rows": ["a"], "colour": 1})"),
            "catalogue: tables of g: unknown key \"colour\"");
}

// A misspelt label would drop its column.
TEST(DeclaredTable, EveryLabelOfADeclarationIsOneThatResultsHave) {
  const std::map<std::string, std::set<std::string>> names = {
      {kOutcome, {kText, kReplay, kAnswers}},
      {"cache", {"full", "budget"}},
      {"sampler", {"top", "recent", "uniform"}}};
  for (const DeclaredTable& table : declared_tables()) {
    for (const DeclaredColumn& column : table.columns) {
      for (const auto& [dim, label] : column.at) {
        const bool is_place = label == "first" || label == "last" || label[0] <= '9';
        const auto known = names.find(dim);
        EXPECT_TRUE(is_place || (known != names.end() && known->second.contains(label)))
            << table.name << ": " << dim << ": " << label;
      }
    }
  }
}

TEST(DeclaredTable, EveryDeclarationShowsAMetricOfItsOwnNameOnce) {
  std::set<std::string> names;
  for (const DeclaredTable& table : declared_tables()) {
    EXPECT_TRUE(names.insert(table.name).second) << table.name;
    EXPECT_FALSE((table.title.empty() && !table.lead) || table.columns.empty()) << table.name;
    for (const DeclaredColumn& column : table.columns) {
      EXPECT_TRUE(!column.explains || !metric_info(column.metric).meaning.empty()) << table.name;
    }
  }
  EXPECT_GT(names.size(), 10u);
}

TEST(DeclaredTable, ReadersGetItAsJson) {
  const auto json =
      to_json({only(heads(), R"({"name": "t", "rows": ["heads"], "best": "loss_change",
    "columns": [{"metric": "loss_change", "title": "least", "show": "signed"}]})")});
  EXPECT_EQ(json[0]["columns"][2]["metric"], "loss_change");
  EXPECT_EQ(json[0]["rows"][2].dump(), R"([["3.0",2.0,""],["a",null,""],["-1.00",-1.0,""]])");
}

}  // namespace
}  // namespace headgauge::view
