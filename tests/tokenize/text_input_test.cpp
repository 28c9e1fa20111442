#include "faults.hpp"
#include "files.hpp"
#include "headgauge/tokenize.hpp"

namespace headgauge {
namespace {

using std::literals::operator""s;

class TextInput : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
};

TEST_F(TextInput, ReadsTextAsItStands) {
  const std::string text = "Gr\xC3\xBC\xC3\x9F dich,\r\n\0 world \xF0\x9F\xA6\x99\n"s;
  EXPECT_EQ(read_text_file(folder_.write("a.txt", text)), text);
}

TEST_F(TextInput, DropsAByteOrderMarkAtTheStartOnly) {
  EXPECT_EQ(read_text_file(folder_.write("a.txt", "\xEF\xBB\xBFone")), "one");
  EXPECT_EQ(read_text_file(folder_.write("b.txt", "one\xEF\xBB\xBF")), "one\xEF\xBB\xBF");
}

TEST_F(TextInput, NamesTheByteThatIsNotUtf8) {
  const std::string latin = folder_.write("latin.txt", "caf\xE9 au lait");
  EXPECT_EQ(error_of([&] { read_text_file(latin); }),
            latin +
                " byte 3: expected UTF-8 text, found the byte 0xe9; convert it (iconv -f "
                "ENCODING -t UTF-8)");
  // Counted from the start of the file, the mark included.
  const std::string marked = folder_.write("marked.txt", "\xEF\xBB\xBFzwei\xFF");
  expect_part(error_of([&] { read_text_file(marked); }), "byte 7:");
  const std::string wide = folder_.write("wide.txt", "\xFF\xFEh\0i\0"s);
  expect_part(error_of([&] { read_text_file(wide); }), "found UTF-16; convert it (iconv -f UTF");
}

TEST_F(TextInput, RefusesWhatHoldsNoText) {
  for (const char* bytes : {"", "\xEF\xBB\xBF"}) {
    const std::string path = folder_.write("empty.txt", bytes);
    EXPECT_EQ(error_of([&] { read_text_file(path); }),
              path + ": expected a text, found an empty file; give a text to measure on");
  }
  expect_part(error_of([&] { read_text_file(folder_.path()); }), folder_.path());
  expect_part(error_of([&] { read_text_file(folder_.path() + "/absent.txt"); }), "absent.txt");
}

TEST_F(TextInput, ReadsTokenIds) {
  EXPECT_EQ(read_token_ids(folder_.write("ids", "1 22\t333\r\n0\n\n 2147483647")),
            (std::vector<int>{1, 22, 333, 0, 2147483647}));
}

TEST_F(TextInput, DropsAByteOrderMarkBeforeTokenIds) {
  EXPECT_EQ(read_token_ids(folder_.write("ids",
                                         "\xEF\xBB\xBF"
                                         "1 22\n")),
            (std::vector<int>{1, 22}));
  const std::string path = folder_.write("ids", "\xEF\xBB\xBFx");
  expect_part(error_of([&] { read_token_ids(path); }), " line 1 column 1: ");
  for (const char* bytes : {"1 \xEF\xBB\xBF"
                            "2",
                            "\xEF\xBB\xBF"}) {
    EXPECT_NE(error_of([&] { parse_token_ids(bytes, "ids"); }), "no error");
  }
}

TEST_F(TextInput, NamesLineAndColumnOfWhatIsNoTokenId) {
  const struct {
    std::string bytes, place, shown;
  } cases[] = {
      {"12, 13", " line 1 column 1: ", "\"12,\""},
      {"1 2\n\n3  x4\n", " line 3 column 4: ", "\"x4\""},
      {"7 -1", " line 1 column 3: ", "\"-1\""},
      {"+1", " line 1 column 1: ", "\"+1\""},
      {"1.5", " line 1 column 1: ", "\"1.5\""},
      {"2147483648", " line 1 column 1: ", "\"2147483648\""},
      {"5 99999999999999999999999999", " line 1 column 3: ", "\"999999999999999999999999...\""},
      {"1 \xC2\xA0", " line 1 column 3: ", "\"\\xa0\""},
      {"1\0002"s, " line 1 column 1: ", "\"1\\x002\""},
  };
  for (const auto& c : cases) {
    const std::string path = folder_.write("ids", c.bytes);
    EXPECT_EQ(error_of([&] { read_token_ids(path); }),
              path + c.place + "expected a token id (an integer from 0 to 2147483647), found " +
                  c.shown + "; separate ids only by spaces or line breaks");
  }
}

TEST_F(TextInput, RefusesAFileWithoutTokenIds) {
  const std::string empty = folder_.write("ids", "");
  expect_part(error_of([&] { read_token_ids(empty); }), "found an empty file");
  const std::string blank = folder_.write("ids", " \n\t\n");
  expect_part(error_of([&] { read_token_ids(blank); }), "found only whitespace");
}

TEST(CheckIds, NamesTheFirstIdOutOfRange) {
  const std::vector<int> ids = {0, 52, 53, 99};
  EXPECT_EQ(error_of([&] { check_ids(ids, 53, "story.txt"); }),
            "story.txt token 3 of 4: expected an id from 0 to 52, found 53; use the model's own "
            "tokenizer");
  EXPECT_EQ(error_of([&] { check_ids(ids, 100, "story.txt"); }), "no error");
  const std::vector<int> negative = {-1};
  expect_part(error_of([&] { check_ids(negative, 53, "ids"); }), "found -1");
}

}  // namespace
}  // namespace headgauge
