// The page as a file: what a browser would find in it, taken apart by other means.
#include <gtest/gtest.h>
#include <zlib.h>

#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "headgauge/advice.hpp"
#include "headgauge/diff.hpp"
#include "headgauge/flags.hpp"
#include "headgauge/report.hpp"
#include "report/bundle.hpp"
#include "results/made_results.hpp"
#include "test_data.hpp"

namespace headgauge {
namespace {

using Json = nlohmann::ordered_json;

struct Script {
  std::string type, parts, text;
};

// The script elements that have an id. Ends where a browser ends an element: at the first
// "</script", whatever stands around it.
std::map<std::string, Script> scripts_of(const std::string& page) {
  std::map<std::string, Script> scripts;
  const std::string open = "<script id=\"";
  for (auto at = page.find(open); at != page.npos; at = page.find(open, at + 1)) {
    const auto id = at + open.size(), id_end = page.find('"', id);
    const auto type = page.find("type=\"", id_end) + 6, type_end = page.find('"', type);
    const auto text = page.find('>', type_end) + 1, text_end = page.find("</script", text);
    const std::string rest = page.substr(type_end, text - type_end);
    const std::string parts = " data-parts=\"";
    const auto named = rest.find(parts);
    scripts[page.substr(id, id_end - id)] = {
        page.substr(type, type_end - type),
        named == rest.npos
            ? ""
            : rest.substr(named + parts.size(), rest.size() - named - parts.size() - 2),
        page.substr(text, text_end - text)};
  }
  return scripts;
}

std::string from_base64(const std::string& text) {
  std::string bytes;
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : text) {
    if (c == '=') break;
    const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    bits = bits << 6 | static_cast<std::uint32_t>(digits.find(c));
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes += static_cast<char>(bits >> held & 255);
  }
  return bytes;
}

std::string gunzip(const std::string& packed) {
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string text;
  int status = Z_OK;
  while (status == Z_OK) {
    char buffer[4096];
    stream.next_out = reinterpret_cast<Bytef*>(buffer);
    stream.avail_out = sizeof buffer;
    status = inflate(&stream, Z_NO_FLUSH);
    text.append(buffer, sizeof buffer - stream.avail_out);
  }
  EXPECT_EQ(status, Z_STREAM_END);
  EXPECT_EQ(stream.avail_in, 0U) << "browsers refuse what follows";
  inflateEnd(&stream);
  return text;
}

std::string page_of(const Results& results) {
  const testing::TemporaryFolder folder("report-page");
  write_report(results, folder / "report.html");
  return read_file(folder / "report.html");
}

Json json_of(const Script& script) {
  return Json::parse(script.type == "application/gzip" ? gunzip(from_base64(script.text))
                                                       : script.text);
}

// {"values": [...], ...} of packed numbers.
Json unpacked(const Script& script) {
  const std::string bytes = gunzip(from_base64(script.text));
  std::vector<float> numbers(bytes.size() / sizeof(float));
  std::vector<std::string> parts;
  std::istringstream words(script.parts);
  for (std::string word; words >> word;) parts.push_back(word);
  Json json;
  const std::size_t size = numbers.size() / parts.size();
  for (std::size_t i = 0; i < numbers.size(); ++i) {  // byte b of number i of a part is in plane b
    std::array<char, sizeof(float)> word{};
    for (std::size_t b = 0; b < word.size(); ++b) {
      word[b] = bytes[(i / size * word.size() + b) * size + i % size];
    }
    std::memcpy(&numbers[i], word.data(), word.size());
  }
  for (std::size_t k = 0; k < parts.size(); ++k) {
    for (std::size_t i = 0; i < size; ++i) {
      const double value = numbers[k * size + i];
      json[parts[k]].push_back(std::isnan(value) ? Json() : Json(value));
    }
  }
  return json;
}

// Every number of the page, by metric; what is undefined as NaN.
void expect_same_numbers(const Results& results, std::map<std::string, Script>& scripts) {
  const Json overview = json_of(scripts["headgauge-data"]);
  ASSERT_EQ(overview["metrics"].size(), results.metrics.size());
  std::size_t k = 0;
  for (const auto& [name, metric] : results.metrics) {
    const Json& entry = overview["metrics"][k++];
    EXPECT_EQ(entry["name"], name);
    EXPECT_EQ(entry["dims"], Json(metric.dim_names()));
    EXPECT_EQ(entry["unit"], metric.unit);
    const Script& script = scripts[entry["element"].get<std::string>()];
    const Json numbers =
        script.type == "application/gzip" ? unpacked(script) : Json::parse(script.text);
    // Packed numbers are cut to more digits than the page shows.
    const bool packed = script.type == "application/gzip";
    const auto compare = [&](const char* key, const std::vector<double>& expected) {
      const double share = !packed ? 0 : key == std::string("stderr") ? 0x1p-8 : 0x1p-15;
      ASSERT_EQ(numbers.contains(key), !expected.empty()) << name << " " << key;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const Json& found = numbers[key][i];
        EXPECT_EQ(found.is_null(), !std::isfinite(expected[i]));
        if (found.is_null()) continue;
        EXPECT_NEAR(found.get<double>(), expected[i], share * std::abs(expected[i]));
      }
    };
    compare("values", metric.values);
    compare("stderr", metric.standard_error);
    compare("low", metric.low);
    compare("high", metric.high);
    compare("p", metric.p);
    EXPECT_EQ(numbers.value("rows", Json::array()), Json(metric.rows)) << name;
  }
}

TEST(Page, HoldsTheResultsNumberByNumber) {
  const Results results = made_results();
  auto scripts = scripts_of(page_of(results));
  expect_same_numbers(results, scripts);
  Json overview = json_of(scripts["headgauge-data"]);
  for (const char* words : {"flag_words", "pattern_words"}) overview["header"].erase(words);
  Json header = to_json(results);
  header.erase("metrics");
  EXPECT_EQ(overview["header"], header);
}

// Files of before the list was kept have none.
TEST(Page, HasTheListOfChangesWhereTheResultsLackIt) {
  const auto tables_of = [](const Results& results) {
    Json tables = json_of(scripts_of(page_of(results))["headgauge-data"])["tables"];
    for (std::size_t k = tables.size(); k-- > 0;) {
      if (tables[k]["name"] != "largest_changes") tables.erase(k);
    }
    return tables;
  };
  Results after = made_results();
  for (double& error : after.metric("entropy_with_sinks")->standard_error) error = 0.1;
  const Results before = after;
  for (double& value : after.metric("entropy_with_sinks")->values)
    value += 0.5;  // 3.5 standard errors
  after.metric("mass_90_with_sinks")->values[11] = 16;
  Results results = diff(before, after);
  for (const double level : {kFalseDiscoveries, 1e-5}) {
    if (level != kFalseDiscoveries) results.settings["level"] = level;
    results.changes = list_changes(results, level);
    EXPECT_EQ(results.changes->measured.size(), level == kFalseDiscoveries ? 6U : 0U);
    EXPECT_EQ(results.changes->unmeasured.size(), 1U);
    const Json tables = tables_of(results);
    EXPECT_EQ(tables.size(), level == kFalseDiscoveries ? 2U : 1U);
    results.changes.reset();
    EXPECT_EQ(tables_of(results), tables);
  }
  EXPECT_TRUE(tables_of(before).empty());
}

// Of bytes of every remainder by three, as base64 pads them.
TEST(Page, PacksEveryNumberOfBytes) {
  std::set<std::size_t> remainders;
  for (int size = 600; size < 640; ++size) {
    Results results = made_results();
    results.set_coord("position", std::vector<double>(size, 1));
    LabelledArray& large = results.add_metric("large", {"position"}, "1");
    for (std::size_t i = 0; i < large.values.size(); ++i) {
      large.values[i] = std::cos(static_cast<double>(i));
    }
    auto scripts = scripts_of(page_of(results));
    expect_same_numbers(results, scripts);
    for (const auto& [id, script] : scripts) {
      if (script.type == "application/gzip") {
        remainders.insert(from_base64(script.text).size() % 3);
      }
    }
  }
  EXPECT_EQ(remainders.size(), 3U);
}

TEST(Page, CompressesLargeNumbers) {
  Results results = made_results();
  results.set_coord("position", std::vector<double>(3000, 1));
  LabelledArray& large = results.add_metric("large", {"position"}, "1");
  for (std::size_t i = 0; i < large.values.size(); ++i) {
    large.values[i] = std::sin(static_cast<double>(i));
  }
  large.values[7] = kUndefined;
  large.standard_error.assign(3000, .125);
  large.rows.assign(3000, 64);
  auto scripts = scripts_of(page_of(results));
  expect_same_numbers(results, scripts);
  int packed = 0;
  for (const auto& [id, script] : scripts) {
    packed += script.type == "application/gzip" && id != "headgauge-data";
  }
  EXPECT_EQ(packed, 1);
}

// The page subtracts rounded values; the changes that this would lose, it gets as they are.
TEST(Page, KeepsTheChangesThatRoundingWouldLose) {
  Results results;
  results.command = Command::compare;
  results.set_coord("pattern", std::vector<std::string>{"original", "a"});
  results.set_coord("length", std::vector<double>{1, 2, 3});
  results.add_metric("of", {"pattern", "length"}, "1").values = {0.5,  0.5,        0.5,
                                                                 0.75, 0.5 + 1e-6, 0.5};
  LabelledArray& change = results.add_metric("of_change", {"pattern", "length"}, "1");
  change.change_of = "of";
  change.values = {0, 0, 0, 0.25, (0.5 + 1e-6) - 0.5, 0};
  auto scripts = scripts_of(page_of(results));
  const Json entry = json_of(scripts["headgauge-data"])["metrics"][1];
  ASSERT_EQ(entry["kept_changes"].size(), 1U);
  EXPECT_EQ(entry["kept_changes"][0][0], 4);
  EXPECT_NEAR(entry["kept_changes"][0][1].get<double>(), 1e-6, 1e-10);
  EXPECT_FALSE(scripts.contains(entry["element"].get<std::string>()));
}

// A name cannot leave the element that it is in, nor open another.
TEST(Page, NamesAreNeverMarkup) {
  Results results = made_results();
  const std::string name = "</script><script>alert(1)</script><!--<b>&amp;\u2028";
  results.text.names = {name};
  results.model.name = name;
  const std::string page = page_of(results);
  EXPECT_EQ(page.find("alert(1)</script>"), page.npos);
  auto scripts = scripts_of(page);
  const Json overview = json_of(scripts["headgauge-data"]);
  EXPECT_EQ(overview["header"]["text"]["names"][0], name);
  EXPECT_EQ(overview["header"]["model"]["name"], name);
}

// `count` queries of each of 12 x 12 heads with 32 keys each, in texts of 1024 tokens.
Results with_examples(int count, int texts) {
  Results results = made_results();
  std::mt19937 random(5);
  std::uniform_real_distribution<double> share(0, 1);
  const auto digits = [&] { return std::round(share(random) * 1e4) / 1e4; };
  const auto number = [&](int below) { return static_cast<int>(random() % std::uint32_t(below)); };
  for (int head = 0; head < 144; ++head) {
    for (int k = 0; k < count; ++k) {
      Example example;
      example.layer = head / 12;
      example.head = head % 12;
      example.why = std::vector<std::string>{"change", "far", "near", "spread"}[k % 4];
      example.value = digits();
      example.document = number(texts);
      example.query = number(1024);
      example.covered = digits();
      for (int i = 0; i < 32; ++i) {
        example.keys.push_back(number(1024));
        example.weights.push_back(digits());
        example.originals.push_back(digits());
      }
      results.examples.push_back(example);
    }
  }
  for (int text = 0; text < texts; ++text) {
    Passage& passage = results.passages.emplace_back(Passage{text, 0, {}});
    for (int t = 0; t < 1024; ++t) {
      std::string& word = passage.tokens.emplace_back(" ");
      for (int i = number(8); i >= 0; --i) word += static_cast<char>('a' + number(26));
    }
  }
  return results;
}

TEST(Page, SaysWhatEveryFlagMeans) {
  const Results results = made_results();
  auto scripts = scripts_of(page_of(results));
  const Json words = json_of(scripts["headgauge-data"])["header"]["flag_words"];
  ASSERT_EQ(words.size(), flag_infos().size());
  for (const FlagInfo& info : flag_infos()) {
    EXPECT_EQ(words[info.name]["meaning"], info.meaning);
    EXPECT_EQ(words[info.name]["means"], info.means);
    EXPECT_EQ(words[info.name]["next"], with_commands(results, info.next));
  }
}

TEST(Page, SaysWhichKeysAPatternKeeps) {
  Results results;
  results.set_coord("pattern", std::vector<std::string>{"original", "sinks:sinks=4,window=60",
                                                        "window:size=64", "topk:k=3"});
  auto scripts = scripts_of(page_of(results));
  EXPECT_EQ(json_of(scripts["headgauge-data"])["header"]["pattern_words"],
            Json({{"original", "original"},
                  {"sinks:sinks=4,window=60", "first 4 and last 60"},
                  {"window:size=64", "last 64"},
                  {"topk:k=3", "topk:k=3"}}));
}

TEST(Page, HoldsTheExamples) {
  for (const int count : {0, 1, 6}) {
    Results results = with_examples(count, 1);
    if (count == 1) results.examples.resize(2);
    if (count == 1) results.passages.front().tokens = {"</script><b>", "\x01", " it"};
    auto scripts = scripts_of(page_of(results));
    EXPECT_EQ(scripts.contains("headgauge-examples"), count > 0);
    EXPECT_FALSE(json_of(scripts["headgauge-data"])["header"].contains("examples"));
    if (count == 0) continue;
    const Script& script = scripts["headgauge-examples"];
    EXPECT_EQ(script.type, count == 1 ? "application/json" : "application/gzip");
    const Json found = json_of(script);
    const Json json = to_json(results);
    EXPECT_EQ(found["examples"], json["examples"]);
    EXPECT_EQ(found["passages"], json["passages"]);
  }
}

// What is promised of 144 heads, with numbers that compress as badly as any.
TEST(Page, GrowsByLessThan350KilobytesForTheExamplesOf144Heads) {
  const std::size_t without = page_of(with_examples(0, 1)).size();
  const std::size_t grown = page_of(with_examples(6, 1)).size() - without;
  EXPECT_LT(grown, 350'000U);
  EXPECT_GT(grown, 50'000U) << "they are not there";
  RecordProperty("grown", static_cast<int>(grown));
  EXPECT_LT(page_of(with_examples(6, 4)).size() - without, 350'000U) << "of four texts";
}

TEST(Page, IsTheSameForTheSameResults) {
  EXPECT_EQ(page_of(made_results()), page_of(made_results()));
}

// The budget: a page without results is below 1 MB, and asks nothing of the network.
TEST(Page, BundleIsSmallAndAlone) {
  const std::string_view page = report::page_template();
  EXPECT_LT(page.size(), 1'000'000U);
  for (const char* reference : {" src=\"http", " href=\"http", "url(http", "import(\"http"}) {
    EXPECT_EQ(page.find(reference), page.npos) << reference;
  }
  EXPECT_NE(page.find("default-src 'none'"), page.npos);
}

}  // namespace
}  // namespace headgauge
