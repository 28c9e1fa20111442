#include "headgauge/journal.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>
#include <thread>

#include "base/file.hpp"
#include "base/journal_file.hpp"
#include "faults.hpp"
#include "test_data.hpp"

namespace headgauge {
namespace {

using testing::TemporaryFolder;
using Role = Journal::Role;

const Journal::Identity kRun = {{"command", "scan"}, {"--seed", {"4"}}};

// A journal of kRun in a folder.
struct OpenJournal : Journal {
  explicit OpenJournal(const std::string& folder, Role role = Role::alone, Share share = {})
      : Journal(role, share) {
    open(folder, kRun, "--out");
  }
};

Bytes bytes(std::string_view text) {
  const auto letters = std::as_bytes(std::span(text));
  return {letters.begin(), letters.end()};
}

std::string text(const std::optional<Bytes>& part) {
  if (!part) return "nothing";
  return {reinterpret_cast<const char*>(part->data()), part->size()};
}

// The most memory that this process has had, in KiB.
long peak_memory() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

// A run of three documents and two layers, of which this process keeps its share.
void keep_share(Journal& journal) {
  const Journal::Stage stage(journal, "scan");
  const Journal::Deal deal(journal, std::vector{3.0, 1.0, 2.0});
  for (int layer = 0; layer < 2; ++layer) {
    for (Index document = 0; document < 3; ++document) {
      if (!journal.computes(document) || journal.find(layer, document)) continue;
      journal.keep(layer, document, bytes(std::to_string(10 * layer + document)));
    }
  }
}

TEST(DealDocuments, GivesTheCostliestFirstToWhoHasLeast) {
  EXPECT_EQ(deal_documents(std::vector{1.0, 5.0, 4.0, 2.0, 2.0}, 2), (std::vector{1, 0, 1, 1, 0}));
  EXPECT_EQ(deal_documents(std::vector{1.0, 1.0}, 3), (std::vector{0, 1}));
  EXPECT_TRUE(deal_documents({}, 3).empty());
}

// Graham's bound of that rule: no process has more than 4/3 of what is best, and so not more than
// 4/3 of the mean and the costliest document.
TEST(DealDocuments, KeepsTheBoundOfLongestFirst) {
  std::mt19937 random(7);
  for (int world = 0; world < 200; ++world) {
    std::vector<double> costs(1 + random() % 60);
    for (double& cost : costs) cost = 1 + static_cast<double>(random() % 1000);
    const int count = 1 + static_cast<int>(random() % 9);
    std::vector<double> sums(count);
    const auto owners = deal_documents(costs, count);
    for (std::size_t d = 0; d < costs.size(); ++d) sums[owners[d]] += costs[d];
    const double mean = std::accumulate(costs.begin(), costs.end(), 0.0) / count;
    const double largest = *std::ranges::max_element(costs);
    EXPECT_LE(*std::ranges::max_element(sums), mean + largest * (count - 1) / count + 1e-9);
  }
}

TEST(Journal, FindsWhatItKept) {
  const TemporaryFolder folder("journal-found");
  for (const bool again : {false, true}) {
    OpenJournal journal(folder.path());
    EXPECT_EQ(journal.goes_on(), again);
    {
      const Journal::Stage stage(journal, "scan");
      const Journal::Stage inner(journal, "loss");
      EXPECT_EQ(text(journal.find(-1, 2)), again ? std::string("a\0b", 3) : "nothing");
      EXPECT_EQ(journal.computed(-1, 2), again);
      EXPECT_FALSE(journal.computed(-1, 1));
      if (!again) journal.keep(-1, 2, bytes({"a\0b", 3}));
    }
    EXPECT_EQ(text(journal.find(-1, 2)), "nothing") << "of another stage";
    journal.flush();
    if (!again) continue;
    journal.remove();
    EXPECT_FALSE(std::filesystem::exists(folder / kJournalFolder));
  }
}

TEST(Journal, SaysWhereItGoesOn) {
  const TemporaryFolder folder("journal-resumed");
  const auto keep = [&](int layer, std::vector<Index> documents) {
    OpenJournal journal(folder.path());
    const auto from = journal.resumed(3);
    const Journal::Stage stage(journal, "scan");
    for (const Index document : documents) journal.keep(layer, document, bytes("part"));
    journal.flush();
    return from ? from->stage + std::to_string(from->layer) : "nothing";
  };
  EXPECT_EQ(keep(-1, {0}), "nothing");
  EXPECT_EQ(keep(4, {0, 1}), "nothing") << "a part of no layer";
  EXPECT_EQ(keep(4, {2}), "scan/4");
  EXPECT_EQ(keep(5, {0}), "scan/5") << "all documents of layer 4 are there";
  EXPECT_EQ(keep(5, {1, 2}), "scan/5");
  EXPECT_EQ(keep(6, {}), "scan/6");
}

TEST(Journal, TellsAgainWhatFailed) {
  const TemporaryFolder folder("journal-failed");
  for (const bool again : {false, true}) {
    OpenJournal journal(folder.path());
    if (!again) {
      journal.fail(3, 1, "head 3.1: NaN");
      journal.flush();
      continue;
    }
    EXPECT_THROW(journal.find(3, 1), AttentionError);
    EXPECT_EQ(thrown<Error>([&] { journal.find(3, 1); }), "head 3.1: NaN");
  }
}

TEST(Journal, NoneKeepsNothingAndComputesEverything) {
  Journal& none = no_journal();
  EXPECT_FALSE(none.keeps());
  EXPECT_TRUE(none.has_results());
  {
    const Journal::Stage stage(none, "scan");
    const Journal::Deal deal(none, std::vector{1.0, 2.0});
    const Journal::Deal to_one(none, Index{1});
    EXPECT_TRUE(none.computes(1));
    EXPECT_TRUE(none.has_all());
    none.keep(0, 1, bytes("x"));
    none.fail(1, 1, "head 1.0: NaN");
    for (const int layer : {0, 1}) EXPECT_EQ(text(none.find(layer, 1)), "nothing");
    EXPECT_FALSE(none.computed(0, 1));
    EXPECT_FALSE(none.wants_state(1));
    EXPECT_EQ(none.state_layer(1), 0);
  }
  none.flush(true);
  none.remove();
  EXPECT_FALSE(none.goes_on());
  EXPECT_EQ(none.path(), "");
}

TEST(Journal, NoneIsSharedByThreads) {
  std::vector<std::thread> threads;
  for (int k = 0; k < 4; ++k) {
    threads.emplace_back([] {
      for (Index document = 0; document < 10000; ++document) {
        const Journal::Stage stage(no_journal(), "a stage with a name that is not short");
        const Journal::Deal deal(no_journal(), std::vector{1.0});
        no_journal().fail(0, document, "head 1.0: NaN");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(text(no_journal().find(0, 0)), "nothing");
}

TEST(Journal, CutsBackToTheLastWholeRecord) {
  const TemporaryFolder folder("journal-torn");
  std::string path;
  {
    OpenJournal journal(folder.path());
    for (Index document = 0; document < 20; ++document) {
      journal.keep(0, document, bytes(std::string(37 + document, 'x')));
    }
    journal.flush();
    path = journal.path();
  }
  const std::string whole = read_file(path);
  const std::size_t first = whole.find('\n', whole.find('\n') + 1) + 1;
  Index before = -1;
  for (std::size_t size = first; size <= whole.size(); size += 29) {
    write_atomically(path, whole.substr(0, size));
    OpenJournal journal(folder.path());
    Index found = 0;
    while (journal.find(0, found)) ++found;
    EXPECT_GE(found, before) << "more of the file holds no less";
    before = found;
    // What is added stands behind the last whole record.
    journal.keep(1, 0, bytes("new"));
    journal.flush();
    OpenJournal second(folder.path());  // while another writes it
    EXPECT_FALSE(second.goes_on());
    second.keep(2, 0, bytes("in vain"));
    second.flush();
    second.remove();
    EXPECT_TRUE(std::filesystem::exists(path));
  }
  EXPECT_GE(before, 18);
  for (std::size_t at = first; at < whole.size(); at += 41) {
    std::string changed = whole;
    changed[at] ^= 1;
    write_atomically(path, changed);
    OpenJournal journal(folder.path());
    for (Index document = 0; document < 20; ++document) {
      const auto part = journal.find(0, document);
      EXPECT_TRUE(!part || text(part) == std::string(37 + document, 'x'));
    }
  }
}

TEST(Journal, OfAnotherRunIsRefused) {
  const TemporaryFolder folder("journal-other");
  {
    OpenJournal journal(folder.path());
    journal.keep(0, 0, bytes("x"));
    journal.flush();
  }
  const auto open = [&](const Journal::Identity& identity) {
    return thrown<Error>([&] {
      Journal journal;
      journal.open(folder.path(), identity, "--out");
    });
  };
  EXPECT_EQ(open(kRun), "nothing");
  expect_part(open({{"command", "scan"}, {"--seed", {"5"}}}), "--seed");
  expect_part(open({{"command", "scan"}}), "--seed");
  auto more = kRun;
  more["--x"] = {"value"};
  expect_part(open(more), "--x");
}

TEST(Journal, OneThatIsNoneIsClosedAgain) {
  const TemporaryFolder folder("journal-torn");
  const std::string path = folder.path() + "/torn";
  std::ofstream(path) << "headgauge.journal/1 12 00000000\n{\"share\":[0,";
  const auto open_files = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  const auto before = open_files();
  for (int k = 0; k < 3; ++k) EXPECT_THROW(JournalFile{path}, BadInputError);
  EXPECT_EQ(open_files(), before);
}

// A run removes its own journals alone, whatever else lies in their folder.
TEST(Journal, LeavesTheFilesOfOthersAlone) {
  const TemporaryFolder folder("journal-foreign");
  const std::string inside = folder / kJournalFolder;
  const auto keep = [](Journal& journal) {
    journal.keep(0, 0, bytes("x"));
    journal.keep_state(1, 0, bytes("state"));
    journal.flush();
  };
  std::filesystem::create_directories(inside);
  std::vector<std::string> foreign{"2026.journal.md", "notes.journal", "part-1-of-1.journal.bak",
                                   "part-1-of-1.journals", "part-x-of-1.journal"};
  for (const std::string& name : foreign) std::ofstream(inside + "/" + name) << "mine\n";
  std::ofstream(folder / "elsewhere") << "mine\n";
  OpenJournal journal(folder.path());
  keep(journal);
  // What came while the run was going on: a journal of another run, a link, and no journal at all.
  const TemporaryFolder other("journal-of-another");
  Journal another(Role::shard, {1, 3});
  another.open(other.path(), {{"command", "compare"}}, "--out");
  keep(another);
  const std::vector<std::string> late{"part-2-of-3.journal", "part-3-of-3.journal",
                                      "part-1-of-3.journal"};
  std::filesystem::copy_file(another.path(), inside + "/" + late[0]);
  std::filesystem::create_symlink(folder / "elsewhere", inside + "/" + late[1]);
  std::ofstream(inside + "/" + late[2]) << "mine\n";
  journal.remove();
  foreign.insert(foreign.end(), late.begin(), late.end());
  std::ranges::sort(foreign);
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(inside)) {
    left.push_back(entry.path().filename().string());
  }
  std::ranges::sort(left);
  EXPECT_EQ(left, foreign);
  EXPECT_TRUE(std::filesystem::exists(folder / "elsewhere"));
}

TEST(Journal, AFolderThatIsALinkIsRefused) {
  const TemporaryFolder folder("journal-link"), elsewhere("journal-elsewhere");
  std::filesystem::create_directory_symlink(elsewhere.path(), folder / kJournalFolder);
  Journal journal;
  const std::string said = thrown<Error>([&] { journal.open(folder.path(), kRun, "--out"); });
  expect_part(said, "found a link");
}

TEST(Journal, ARunWithoutAJournalRemovesNothing) {
  const TemporaryFolder folder("journal-none");
  std::filesystem::create_directories(folder / kJournalFolder);
  OpenJournal journal(folder.path());
  journal.remove();
  EXPECT_TRUE(std::filesystem::exists(folder / kJournalFolder));
}

TEST(Journal, SaysWhatAFileIsInstead) {
  const TemporaryFolder folder("journal-what");
  const std::string path = folder / "part-1-of-1.journal";
  for (const auto& [content, says] :
       {std::pair("mine\n", "found a file that headgauge did not write; move it"),
        std::pair("headgauge.journal/7 12 0\n{}",
                  "another version, headgauge.journal/7; delete it"),
        std::pair("headgauge.journal/1 2 0\n{}\n", "a journal with a damaged header; delete it")}) {
    write_atomically(path, content);
    const std::string said = thrown<Error>([&] { JournalFile{path}; });
    expect_part(said, says);
  }
}

// The sizes in front of a record are believed no further than the file and its checksum bear out.
TEST(Journal, ASparseRecordTakesNoMemory) {
  const TemporaryFolder folder("journal-sparse");
  std::string path;
  {
    OpenJournal journal(folder.path());
    journal.keep(0, 0, bytes("x"));
    journal.flush();
    path = journal.path();
  }
  const std::uint64_t name = std::uint64_t{3} << 30, none = 0;
  std::ofstream file(path, std::ios::binary | std::ios::app);
  file.write("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);  // checksum, layer, document
  file.write(reinterpret_cast<const char*>(&name), sizeof name);
  file.write(reinterpret_cast<const char*>(&none), sizeof none);
  file.close();
  std::filesystem::resize_file(path, std::filesystem::file_size(path) + name);
  const long before = peak_memory();
  OpenJournal journal(folder.path());
  EXPECT_EQ(text(journal.find(0, 0)), "x");
  EXPECT_LT(peak_memory() - before, 64 << 10) << "KiB";
}

TEST(Journal, KeepsTheLastStateOfADocument) {
  const TemporaryFolder folder("journal-state");
  const Bytes state = bytes("sixteen letters.");
  {
    OpenJournal journal(folder.path());
    EXPECT_FALSE(journal.wants_state(std::size_t{1} << 30)) << "not before it is worth it";
    EXPECT_FALSE(journal.wants_state(0)) << "a source without states";
    const Journal::Stage stage(journal, "scan");
    journal.keep_state(2, 5, bytes("an older one...."));
    journal.keep_state(9, 5, state);
    journal.keep_state(4, 6, bytes("another document"));
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / kJournalFolder), {}), 2);
  OpenJournal journal(folder.path());
  EXPECT_EQ(journal.state_layer(5), 0) << "of another stage";
  const Journal::Stage stage(journal, "scan");
  EXPECT_EQ(journal.state_layer(5), 9);
  EXPECT_EQ(journal.state_layer(7), 0);
  Bytes into(state.size());
  journal.read_state(5, into);
  EXPECT_EQ(into, state);
  Bytes longer(state.size() + 1);
  EXPECT_NE(thrown<Error>([&] { journal.read_state(5, longer); }), "nothing");
}

TEST(Journal, JoinsShards) {
  const TemporaryFolder folder("journal-shards");
  std::vector<std::string> folders;
  for (int shard = 0; shard < 2; ++shard) {
    folders.push_back(folder / std::to_string(shard));
    OpenJournal journal(folders.back(), Role::shard, {shard, 2});
    EXPECT_FALSE(journal.has_results());
    EXPECT_TRUE(journal.has_all()) << "of what is not dealt out";
    keep_share(journal);
    EXPECT_NE(thrown<Error>([&] { Journal::merge(folders); }), "nothing") << "not finished";
    journal.flush(true);
  }
  {
    OpenJournal more(folders[1], Role::shard, {1, 2});  // of which something was missing after all
    more.keep(3, 3, bytes("more"));
    more.flush();
    EXPECT_NE(thrown<Error>([&] { Journal::merge(folders); }), "nothing") << "no longer finished";
    more.flush(true);
  }
  const auto merged = Journal::merge(folders);
  merged->require_identity(kRun);
  EXPECT_EQ(merged->identity(), kRun);
  const Journal::Stage stage(*merged, "scan");
  const Journal::Deal deal(*merged, std::vector{3.0, 1.0, 2.0});
  for (Index document = 0; document < 3; ++document) {
    EXPECT_FALSE(merged->computes(document));
    EXPECT_EQ(text(merged->find(1, document)), std::to_string(10 + document));
  }
  EXPECT_NE(thrown<Error>([&] { merged->find(7, 0); }), "nothing") << "a part that no shard has";
  expect_part(thrown<Error>([&] { Journal::merge({folders[0]}); }), "no shard 2");
  const std::string twice = thrown<Error>([&] {
    Journal::merge({folders[0], folders[0], folders[1]});
  });
  expect_part(twice, "each shard once");
}

TEST(Journal, DealsOnceAndToOne) {
  Journal journal(Role::shard, {1, 2});
  EXPECT_TRUE(journal.computes(0)) << "nothing is dealt out";
  const Journal::Deal deal(journal, std::vector{5.0, 1.0});
  EXPECT_FALSE(journal.computes(0));
  EXPECT_TRUE(journal.computes(1));
  {
    const Journal::Deal again(journal, std::vector{1.0, 5.0});
    EXPECT_FALSE(journal.computes(0)) << "an object around it dealt them out";
  }
  {
    const Journal::Deal to_one(journal, Index{1});
    EXPECT_TRUE(journal.computes(0)) << "all of text 1";
    EXPECT_FALSE(journal.has_all());
  }
  EXPECT_FALSE(journal.computes(0));
}

TEST(Bytes, ComeBack) {
  ByteWriter writer;
  writer.put(3.5);
  writer.put_text("caf\u00e9");
  writer.put_list(std::vector<int>{1, 2, 3});
  writer.put_list(std::vector<int>{});
  const Bytes all = writer.take();
  ByteReader reader(all);
  EXPECT_EQ(reader.take<double>(), 3.5);
  EXPECT_EQ(reader.take_text(), "caf\u00e9");
  EXPECT_EQ(reader.take_list<int>(), (std::vector{1, 2, 3}));
  EXPECT_TRUE(reader.take_list<int>().empty());
  EXPECT_TRUE(reader.at_end());
  EXPECT_THROW(reader.take<char>(), BadInputError);
  for (std::size_t size = 0; size < all.size(); ++size) {
    ByteReader cut(std::span<const std::byte>(all).first(size));
    EXPECT_THROW(
        {
          cut.take<double>();
          cut.take_text();
          cut.take_list<int>();
          cut.take_list<int>();
        },
        BadInputError);
  }
}

}  // namespace
}  // namespace headgauge
