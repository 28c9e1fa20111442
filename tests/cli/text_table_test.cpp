#include "cli/text_table.hpp"

#include <gtest/gtest.h>

#include <regex>

#include "faults.hpp"

namespace headgauge::cli {
namespace {

const Painter kPlain(false);

TextTable three_columns(const Painter& paint = kPlain) {
  TextTable table(paint, {left_column("name", 6), {"loss", 5, "nats", 2}, {"KL", 4, "", 1}});
  table.row({"first", "1.5", {"2", Style::warning}});
  table.row({"äöü", "-"});
  return table;
}

TEST(TextTable, AlignsCellsUnderTitlesAndUnits) {
  EXPECT_EQ(three_columns().text(),
            "name    loss   KL\n"
            "        nats     \n"
            "first    1.5    2\n"
            "äöü        -\n");
}

TEST(TextTable, ALineWithoutTextIsLeftOut) {
  TextTable titles(kPlain, {{"a", 2}, {"b", 2}});
  titles.row({"1", "2"});
  EXPECT_EQ(titles.text(), " a  b\n 1  2\n");
  TextTable rows(kPlain, {{"", 2}, {"", 2}});
  rows.row({"1", "2"});
  rows.row({});
  rows.row({"3"});
  EXPECT_EQ(rows.text(), " 1  2\n\n 3\n");
}

TEST(TextTable, DropsTheColumnOfTheLargestRankUntilTheOthersFit) {
  TextTable table = three_columns();
  EXPECT_EQ(table.width(), 17u);
  EXPECT_EQ(table.fit(17), 0u);
  EXPECT_EQ(table.fit(16), 1u);
  EXPECT_TRUE(table.shows(0) && !table.shows(1) && table.shows(2));
  EXPECT_EQ(table.text(), "name     KL\n           \nfirst     2\näöü\n");
  EXPECT_EQ(table.fit(1), 2u);  // the name has rank 0
  EXPECT_EQ(table.text(), "name\n\nfirst\näöü\n");
}

TEST(TextTable, OfEqualRanksTheFirstIsDropped) {
  TextTable table(kPlain, {{"a", 3, "", 1}, {"b", 3, "", 1}});
  table.fit(6);
  EXPECT_TRUE(!table.shows(0) && table.shows(1));
}

TEST(TextTable, AWidthThatIsNotGivenIsThatOfTheWidestText) {
  TextTable table(kPlain, {left_column("m"), {"value"}, left_column("where")});
  table.row({"entropy", "1", "L=64"});
  table.row({"eff", "1000000", ""});
  EXPECT_EQ(table.text(),
            "m         value where\n"
            "entropy       1 L=64\n"
            "eff     1000000 \n");
  EXPECT_EQ(table.width(), 21u);
}

TEST(TextTable, ATextThatIsTooWideMovesWhatFollows) {
  TextTable table(kPlain, {{"a", 2}, {"b", 2}});
  table.row({"12345", "6"});
  EXPECT_EQ(table.text(), " a  b\n12345  6\n");
}

TEST(TextTable, ColourChangesNothingButTheCodes) {
  const std::string coloured = three_columns(Painter(true)).text();
  expect_part(coloured, "  \x1b[1mloss\x1b[0m");
  expect_part(coloured, "  \x1b[2mnats\x1b[0m");
  expect_part(coloured, "   \x1b[33m2\x1b[0m\n");
  EXPECT_EQ(std::regex_replace(coloured, std::regex("\x1b\\[[0-9]+m"), ""), three_columns().text());
}

TEST(Painter, AnEntryGoesOnBelowItsText) {
  EXPECT_EQ(kPlain.entry(Style::bold, "run", "one two three", 12, 5), "run  one two\n     three\n");
  EXPECT_EQ(kPlain.entry(Style::bold, "run", "", 12, 5), "");
  EXPECT_EQ(kPlain.entry(Style::bold, "longer", "text", 20, 5), "longer\n     text\n");
}

}  // namespace
}  // namespace headgauge::cli
