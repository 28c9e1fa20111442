// Hundreds of damaged parts, the same in every run: whatever the journal of a shard holds under a
// right checksum, merging it ends, or is refused with an Error of one line.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <random>

#include "base/journal_file.hpp"
#include "headgauge/headgauge.hpp"
#include "small_models.hpp"

namespace headgauge {
namespace {

constexpr int kTrials = 800;

using Parts = std::vector<std::pair<PartKey, Bytes>>;

std::unique_ptr<ModelSource> open_model() {
  std::vector<Document> documents;
  for (const int length : {64, 80, 70}) {
    documents.push_back(make_document(testing::made_ids(length, 0, 3 * length), "ids"));
  }
  return testing::open_model(std::move(documents), {.threads = 1});
}

Results scan_with(Journal& journal) {
  const auto model = open_model();
  ScanOptions options;
  options.threads = 1;
  options.lengths = {12, 24};
  options.measure.top_n = {1, 3};
  options.measure.top_share = {0.5};
  options.examples = 2;
  options.journal = journal;
  return scan(*model, options);
}

Results converge_with(Journal& journal) {
  const auto model = open_model();
  ConvergeOptions options;
  options.scan.threads = 1;
  options.scan.lengths = {64};
  options.scan.journal = journal;
  options.grid = {4, 12};
  options.replicates = options.draws = 3;
  return converge(*model, options);
}

class Mutator {
 public:
  void change(Bytes& bytes) {
    for (std::size_t left = 1 + below(3); left > 0 && !bytes.empty(); --left) {
      const std::size_t at = below(bytes.size());
      const auto place = bytes.begin() + static_cast<std::ptrdiff_t>(at);
      switch (below(5)) {
        case 0:
          bytes[at] ^= std::byte(1 << below(8));
          break;
        case 1:
          bytes[at] = std::byte(below(256));
          break;
        case 2:
          bytes.erase(place);
          break;
        case 3:
          bytes.insert(place, std::byte(below(256)));
          break;
        default:
          bytes.resize(at);
      }
    }
  }
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }

 private:
  std::mt19937_64 random_{5};
};

template <class Run>
void check(const Run& run) {
  const testing::TemporaryFolder folder("damaged-parts");
  const std::vector<std::string> shards = {folder / "first", folder / "second"};
  std::string path;
  for (int index = 0; index < 2; ++index) {
    Journal journal(Journal::Role::shard, {index, 2});
    journal.open(shards[index], {{"command", "test"}}, "--out");
    run(journal);
    journal.flush(true);
    path = journal.path();
  }
  Parts sound;
  JournalFile::Header header;
  {
    JournalFile file(path);
    header = file.header();
    file.each([&](const PartKey& key, JournalFile::Place place) {
      sound.emplace_back(key, file.read(place));
    });
  }
  ASSERT_FALSE(sound.empty());
  const Results whole = run(*Journal::merge(shards));
  Mutator mutator;
  std::map<std::string, int> refusals;
  int ended = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    Parts parts = sound;
    mutator.change(parts[mutator.below(parts.size())].second);
    std::filesystem::remove(path);
    JournalFile file(path, header);
    for (const auto& [key, part] : parts) file.add(key, part);
    file.finish();
    try {
      EXPECT_EQ(run(*Journal::merge(shards)).coords, whole.coords);
      ++ended;
    } catch (const Error& error) {
      const std::string message = error.what();
      EXPECT_FALSE(message.empty() || message.find('\n') != message.npos) << message;
      ++refusals[message];
    }
  }
  // Most changes are in numbers, of which any may be there.
  EXPECT_GT(ended, kTrials / 20);
  EXPECT_GT(kTrials - ended, kTrials / 20);
  // A part that is too short, and sums of another number; by chance others, too.
  EXPECT_GE(refusals.size(), 2U);
}

TEST(DamagedParts, OfAScanAreTakenOrRefused) {
  check(scan_with);
}

TEST(DamagedParts, OfConvergenceAreTakenOrRefused) {
  check(converge_with);
}

}  // namespace
}  // namespace headgauge
