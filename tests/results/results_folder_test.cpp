#include "headgauge/results_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.hpp"
#include "faults.hpp"
#include "full_disk.hpp"
#include "results/made_results.hpp"
#include "test_data.hpp"

namespace headgauge {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

TEST(ResultsFolder, HoldsBothFilesOfOneResult) {
  const TemporaryFolder folder("results-both");
  write_results_folder(made_results(), folder.path());
  EXPECT_EQ(read_file(folder / kResultsFile), results_text(made_results()));
  EXPECT_EQ(read_file(folder / kHeadsFile), heads_csv_text(made_results()));
}

TEST(ResultsFolder, NoTableOfOtherResultsStaysBehind) {
  const TemporaryFolder folder("results-without");
  write_results_folder(made_results(), folder.path());
  write_results_folder(Results{}, folder.path());
  EXPECT_TRUE(fs::exists(folder / kResultsFile));
  EXPECT_FALSE(fs::exists(folder / kHeadsFile));
}

TEST(ResultsFolder, OfAnotherRequestIsRefusedUnlessThatIsPartial) {
  const TemporaryFolder folder("results-claimed");
  Results old = made_results(), next = made_results();
  const OutFolder out(folder.path());
  const auto refused = [&] {
    return thrown<UsageError>([&] { require_request(next.request, folder.path()); }) ==
           "Run::out: expected a folder without finished results of another request, found " +
               (folder / kResultsFile) + "; choose another, or replace them with Run::force";
  };
  next.request = std::string(64, 'b');
  EXPECT_FALSE(refused()) << "nothing is there";
  for (const std::string& request : {std::string(), std::string(64, 'a')}) {
    old.request = request;
    write_results_folder(old, folder.path());
    EXPECT_TRUE(refused()) << request;
    EXPECT_THROW(write_results_folder(next, folder.path(), false), UsageError);
  }
  EXPECT_EQ(read_results(folder / kResultsFile).request, old.request);
  old.partial = true;
  write_results_folder(old, folder.path());
  EXPECT_FALSE(refused());
  out.save(next);
  EXPECT_FALSE(refused()) << "the same request";
  EXPECT_EQ(read_results(folder / kResultsFile).request, next.request);
}

// There is room for results.json, and none for heads.csv.
TEST(ResultsFolder, AFullDiskLeavesTheOldPair) {
  const TemporaryFolder folder("results-full");
  write_results_folder(made_results(), folder.path());
  Results many;
  many.set_coord("layer", std::vector<double>(100));
  many.set_coord("head", std::vector<double>{0});
  many.set_coord("length", std::vector<double>(20));
  many.add_metric("m", {"layer", "head", "length"}, "1");
  const std::size_t json = results_text(many).size(), table = heads_csv_text(many).size();
  ASSERT_GT(table, json) << "the table has to be what does not fit";
  {
    const testing::FullDisk full((json + table) / 2);
    EXPECT_THROW(write_results_folder(many, folder.path()), ResourceError);
  }
  EXPECT_EQ(read_file(folder / kResultsFile), results_text(made_results()));
  EXPECT_EQ(read_file(folder / kHeadsFile), heads_csv_text(made_results()));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 2);
}

}  // namespace
}  // namespace headgauge
