#include "base/memory.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "test_data.hpp"

namespace headgauge {
namespace {

namespace fs = std::filesystem;

// A made / with 8000 kB of memory available and no control group.
class AvailableMemory : public ::testing::Test {
 protected:
  AvailableMemory() {
    write("proc/meminfo", "MemTotal: 9000 kB\nMemFree: 10 kB\nMemAvailable:    8000 kB\n");
  }
  void write(const std::string& path, const std::string& text) {
    const fs::path file = fs::path(folder_.path()) / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void version2(const std::string& group, const std::string& limit, const std::string& used,
                const std::string& stat) {
    const std::string folder = "sys/fs/cgroup/" + group;
    write(folder + "memory.max", limit + "\n");
    write(folder + "memory.current", used + "\n");
    write(folder + "memory.stat", stat);
  }
  std::size_t available() const { return available_memory(folder_.path()); }

 private:
  testing::TemporaryFolder folder_{"memory"};
};

TEST(FormatBytes, HasThreeDigitsInPowersOfAThousand) {
  EXPECT_EQ(format_bytes(0), "0 bytes");
  EXPECT_EQ(format_bytes(999), "999 bytes");
  EXPECT_EQ(format_bytes(1000), "1 kB");
  EXPECT_EQ(format_bytes(1474560), "1.47 MB");
  EXPECT_EQ(format_bytes(999499999), "999 MB");
  EXPECT_EQ(format_bytes(999500000), "1 GB");
  EXPECT_EQ(format_bytes(std::size_t{11800} * 1000 * 1000), "11.8 GB");
  EXPECT_EQ(format_bytes(~std::size_t{0}), "18.4 EB");
}

TEST_F(AvailableMemory, IsWhatTheSystemSays) {
  EXPECT_EQ(available(), 8000u * 1024);
  version2("", "max", "5000000", "");
  EXPECT_EQ(available(), 8000u * 1024);
}

TEST_F(AvailableMemory, IsNotTakenByPagesOfFilesThatAGroupCanDrop) {
  version2("", "5000000", "4900000",
           "anon 100000\nfile 4700000\nshmem 50000\ninactive_file 3000000\nactive_file 1500000\n");
  EXPECT_EQ(available(), 5000000u - 400000);
  version2("", "5000000", "4900000", "anon 4900000\n");
  EXPECT_EQ(available(), 100000u);
  version2("", "5000000", "5100000", "inactive_file 0\nactive_file 0\n");
  EXPECT_EQ(available(), 0u);
}

TEST_F(AvailableMemory, IsTheLeastOfTheGroupsAroundTheProcess) {
  write("proc/self/cgroup", "1:name=systemd:/\n0::/outer/inner\n");
  version2("outer/inner/", "max", "3000", "");
  version2("outer/", "2000000", "500000", "inactive_file 100000\nactive_file 0\n");
  version2("beside/", "1000", "0", "");
  EXPECT_EQ(available(), 1600000u);
  version2("outer/inner/", "700000", "200000", "");
  EXPECT_EQ(available(), 500000u);
}

TEST_F(AvailableMemory, KnowsControlGroupsOfVersion1) {
  write("proc/self/cgroup", "5:cpu,cpuacct:/a\n4:hugetlb,memory:/docker/0123\n");
  const std::string folder = "sys/fs/cgroup/memory/";
  write(folder + "memory.limit_in_bytes", "6000000\n");
  write(folder + "memory.usage_in_bytes", "5500000\n");
  write(folder + "memory.stat",
        "inactive_file 1\nactive_file 1\ntotal_inactive_file 2000000\ntotal_active_file 1000000\n");
  EXPECT_EQ(available(), 3500000u);
  write(folder + "docker/0123/memory.limit_in_bytes", "1000000\n");
  write(folder + "docker/0123/memory.usage_in_bytes", "400000\n");
  EXPECT_EQ(available(), 600000u);
  write(folder + "memory.limit_in_bytes", "9223372036854771712\n");
  write(folder + "docker/0123/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(available(), 8000u * 1024);
}

}  // namespace
}  // namespace headgauge
