// Temporaries that are in nobody's way, strays, and files that appear together.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "base/file.hpp"
#include "base/temporary.hpp"
#include "full_disk.hpp"
#include "headgauge/base.hpp"
#include "test_data.hpp"

namespace headgauge {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;
using Names = std::set<std::string>;

Names names_in(const std::string& folder) {
  Names names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
  return names;
}

constexpr const char* kStray = "a.txt.abcdefghijkl.tmp";

TEST(Temporaries, NoneIsInTheWayOfAnother) {
  const TemporaryFolder folder("temporary-names");
  const std::string path = folder / "a.txt";
  AtomicFile first(path), second(path);
  EXPECT_EQ(names_in(folder.path()).size(), 2u);
  first.write("first");
  second.write("second");
  second.commit();
  EXPECT_EQ(read_file(path), "second");
  first.commit();
  EXPECT_EQ(read_file(path), "first");
  EXPECT_EQ(names_in(folder.path()), Names{"a.txt"});
}

TEST(Temporaries, ThoseOfTheDeadGoWhenTheFileIsNextWritten) {
  const TemporaryFolder folder("temporary-strays");
  std::ofstream(folder / kStray) << "half";
  write_atomically(folder / "a.txt", "x");
  EXPECT_EQ(names_in(folder.path()), Names{"a.txt"});
}

TEST(Temporaries, ThoseOfTheLivingStay) {
  const TemporaryFolder folder("temporary-living");
  std::ofstream(folder / kStray) << "half";
  const int writer = ::open((folder / kStray).c_str(), O_WRONLY);
  ASSERT_EQ(::flock(writer, LOCK_EX), 0);
  write_atomically(folder / "a.txt", "x");
  EXPECT_EQ(names_in(folder.path()), (Names{"a.txt", kStray}));
  ::close(writer);
  write_atomically(folder / "a.txt", "x");
  EXPECT_EQ(names_in(folder.path()), Names{"a.txt"});
}

TEST(Temporaries, FilesOfOtherNamesAreNotTouched) {
  const TemporaryFolder folder("temporary-others");
  const Names others = {"a.txt.tmp",          "a.txt.17-0.tmp",         "a.txt.ABCDEFGHIJKL.tmp",
                        "a.txt.abcdefghijkl", "b.txt.abcdefghijkl.tmp", "xa.txt.abcdefghijkl.tmp"};
  for (const std::string& name : others) std::ofstream(folder / name) << name;
  fs::create_directory(folder / kStray);
  write_atomically(folder / "a.txt", "x");
  Names expected = others;
  expected.insert({"a.txt", kStray});
  EXPECT_EQ(names_in(folder.path()), expected);
}

TEST(Temporaries, HaveRoomForLongNames) {
  const TemporaryFolder folder("temporary-long");
  const std::string name(255, 'n');
  write_atomically(folder / name, "x");
  EXPECT_EQ(names_in(folder.path()), Names{name});
}

class Pair : public ::testing::Test {
 protected:
  Pair() : folder_("pair") { write("old", "old"); }

  void write(const std::string& one, const std::string& two) {
    AtomicFiles files(folder_.path());
    files.add("one").write(one);
    files.add("two").write(two);
    files.commit();
  }
  void expect_old() const {
    EXPECT_EQ(read_file(folder_ / "one"), "old");
    EXPECT_EQ(read_file(folder_ / "two"), "old");
    EXPECT_EQ(names_in(folder_.path()), (Names{"one", "two"}));
  }

  TemporaryFolder folder_;
};

// As root, a file of its own once took the place of /dev/stdout where that was a file.
TEST(AnOpenFile, IsWrittenWhereItStands) {
  const TemporaryFolder folder("open-file");
  const int file = ::open((folder / "a.txt").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  ASSERT_EQ(::write(file, "before ", 7), 7);
  const std::string path = "/dev/fd/" + std::to_string(file);
  fs::create_symlink(path, folder / "link");
  write_atomically(path, "one ");
  write_atomically(folder / "link", "two");
  ::close(file);
  EXPECT_EQ(read_file(folder / "a.txt"), "before one two");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(names_in(folder.path()), (Names{"a.txt", "link"}));
  EXPECT_THROW(AtomicFile("/dev/fd/999999"), ResourceError);
}

TEST_F(Pair, AppearsTogether) {
  AtomicFiles files(folder_.path());
  files.add("one").write("new");
  files.add("three").write("new");
  files.remove("two");
  files.remove("none");
  EXPECT_EQ(read_file(folder_ / "one"), "old");
  files.commit();
  EXPECT_EQ(read_file(folder_ / "one"), "new");
  EXPECT_EQ(names_in(folder_.path()), (Names{"one", "three"}));
}

TEST_F(Pair, IsTheOldOneWhenTheDiskIsFullBeforeTheSecond) {
  {
    const testing::FullDisk full(1000);
    EXPECT_THROW(write("new", std::string(100000, 'x')), ResourceError);
  }
  expect_old();
}

TEST_F(Pair, IsTheOldOneWhenTheSecondCannotTakeItsPlace) {
  AtomicFiles files(folder_.path());
  files.add("one").write("new");
  files.add("fresh").write("new");
  files.add("two").write("new");
  fs::remove(folder_ / "two");
  fs::create_directory(folder_ / "two");
  EXPECT_THROW(files.commit(), ResourceError);
  EXPECT_EQ(read_file(folder_ / "one"), "old");
  EXPECT_FALSE(fs::exists(folder_ / "fresh"));
}

TEST_F(Pair, HasNoPlaceForPipesAndDevices) {
  AtomicFiles files(folder_.path());
  fs::create_symlink("/dev/null", folder_ / "device");
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  const int reader = ::open((folder_ / "pipe").c_str(), O_RDONLY | O_NONBLOCK);
  EXPECT_THROW(files.add("device"), ResourceError);
  EXPECT_THROW(files.add("pipe"), ResourceError);
  ::close(reader);
}

// A reader needs no lock: while the first stays as it is, a second beside it is its own.
TEST_F(Pair, HasNoSecondOfAnotherBesideTheFirst) {
  std::atomic<bool> ended = false;
  std::atomic<int> seen = 0;
  std::thread reader([&] {
    while (!ended) {
      const std::string first = beginning_of(folder_ / "one", 100);
      const std::string second = beginning_of(folder_ / "two", 100);
      if (second.empty() || beginning_of(folder_ / "one", 100) != first) continue;
      EXPECT_EQ(second, first);
      ++seen;
    }
  });
  for (int k = 0; k < 500; ++k) write(std::to_string(k), std::to_string(k));
  ended = true;
  reader.join();
  EXPECT_GT(seen, 0);
}

TEST_F(Pair, IsNotWaitedForWithoutEnd) {
  const FolderLock held(folder_.path(), std::chrono::seconds(30));
  const FolderLock second(folder_.path(), std::chrono::milliseconds(20));
}

// Who looks under the lock of the folder, sees both of one writer.
TEST_F(Pair, IsNeverOfTwoWriters) {
  std::atomic<bool> ended = false;
  const auto write_often = [&](const std::string& name) {
    for (int k = 0; k < 100; ++k) write(name, name);
  };
  std::thread reader([&] {
    while (!ended) {
      const FolderLock lock(folder_.path(), std::chrono::seconds(30));
      EXPECT_EQ(read_file(folder_ / "one"), read_file(folder_ / "two"));
    }
  });
  std::thread first(write_often, "first"), second(write_often, "second");
  first.join();
  second.join();
  ended = true;
  reader.join();
  EXPECT_EQ(names_in(folder_.path()), (Names{"one", "two"}));
}

}  // namespace
}  // namespace headgauge
