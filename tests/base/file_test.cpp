#include "base/file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <stop_token>
#include <thread>

#include "base/mapped_file.hpp"
#include "faults.hpp"
#include "full_disk.hpp"
#include "headgauge/base.hpp"
#include "test_data.hpp"

namespace headgauge {
namespace {

namespace fs = std::filesystem;
using testing::FullDisk;
using testing::TemporaryFolder;

std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// Expects an Error of this kind that names the path and says what the system said.
template <class Body>
void expect_error(ErrorKind kind, const std::string& path, const std::string& part,
                  const Body& body) {
  try {
    body();
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    EXPECT_EQ(std::string(error.what()).rfind(path + ": ", 0), 0u) << error.what();
    expect_part(error.what(), part);
  }
}

// No file can be opened while this lives.
class NoMoreFiles {
 public:
  NoMoreFiles() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit limit{0, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  ~NoMoreFiles() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST(Reading, TooManyOpenFilesIsNoFaultOfTheFile) {
  const TemporaryFolder folder("file-many");
  const std::string path = folder / "a";
  write_atomically(path, "x");
  // UBSan looks at a class that it does not know yet through a pipe, for which no file will be
  // left.
  expect_error(ErrorKind::resource, "known", "class", [] { throw ResourceError("known: class"); });
  const NoMoreFiles none;
  expect_error(ErrorKind::resource, path, "ulimit -n", [&] { read_file(path); });
  expect_error(ErrorKind::resource, path, "ulimit -n", [&] { MappedFile file(path); });
}

TEST(AtomicFile, AppearsWholeUnderItsName) {
  const TemporaryFolder folder("file-whole");
  const std::string path = folder / "a.txt";
  const std::string bytes("a\0b\n", 4);
  write_atomically(path, bytes);
  EXPECT_EQ(content(path), bytes);
  write_atomically(path, [&](AtomicFile& file) {
    file.write("one ");
    EXPECT_EQ(content(path), bytes);  // the old file stands until the new one is complete
    file.write("two");
  });
  EXPECT_EQ(content(path), "one two");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1);
}

TEST(AtomicFile, IsReadableByOthersAsTheUmaskSays) {
  const TemporaryFolder folder("file-mode");
  const mode_t before = ::umask(027);
  write_atomically(folder / "a", "");
  ::umask(before);
  EXPECT_EQ(fs::status(folder / "a").permissions(), fs::perms(0640));
}

TEST(AtomicFile, LeavesNothingBehindWhenWritingIsAbandoned) {
  const TemporaryFolder folder("file-abandoned");
  const std::string path = folder / "a.txt";
  { AtomicFile(path).write("half"); }
  EXPECT_TRUE(fs::is_empty(folder.path()));
  EXPECT_THROW(write_atomically(path,
                                [](AtomicFile& file) {
                                  file.write("half");
                                  throw std::runtime_error("stop");
                                }),
               std::runtime_error);
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(AtomicFile, KeepsTheOldFileWhenTheDiskIsFull) {
  const TemporaryFolder folder("file-full");
  const std::string path = folder / "a.txt";
  write_atomically(path, "old");
  {
    const FullDisk full(1000);
    expect_error(ErrorKind::resource, path, "too large",
                 [&] { write_atomically(path, std::string(100000, 'x')); });
  }
  EXPECT_EQ(content(path), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1);
}

TEST(AtomicFile, SaysWhyItCannotBeWritten) {
  const TemporaryFolder folder("file-why");
  const auto refused = [](const std::string& path, const std::string& part) {
    SCOPED_TRACE(path);
    expect_error(ErrorKind::resource, path, part, [&] { write_atomically(path, "x"); });
  };
  refused(folder / "no/folder", "No such file or directory");
  refused(folder.path(), "Is a directory");
  refused("", "No such file or directory");
  refused("/dev/full", "No space left on device");
  write_atomically(folder / "file", "x");
  refused(folder / "file/below", "Not a directory");
  if (::geteuid() != 0) {  // root may write anywhere
    fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec);
    refused(folder / "b", "Permission denied");
    fs::permissions(folder.path(), fs::perms::owner_all);
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1);
}

TEST(AtomicFile, WritesDevicesInPlace) {
  write_atomically("/dev/null", "x");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST(AtomicFile, APipeThatNobodyReadsIsRefusedAndNotWaitedFor) {
  const TemporaryFolder folder("file-pipe");
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  expect_error(ErrorKind::resource, pipe, "without a reader", [&] { write_atomically(pipe, "x"); });
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  write_atomically(pipe, "whole");
  char bytes[8] = {};
  EXPECT_EQ(::read(reader, bytes, sizeof bytes), 5);
  EXPECT_EQ(std::string(bytes), "whole");
  ::close(reader);
}

TEST(Reading, GivesTheBytesOfAFile) {
  const TemporaryFolder folder("file-read");
  const std::string large(300000, 'y');
  write_atomically(folder / "a", large);
  EXPECT_EQ(read_file(folder / "a"), large);
  EXPECT_EQ(read_stream(folder / "a"), large);
  write_atomically(folder / "empty", "");
  EXPECT_EQ(read_file(folder / "empty"), "");
  EXPECT_EQ(read_stream(folder / "empty"), "");
}

TEST(Reading, AnswersForWhatIsNoFileAtOnce) {
  const TemporaryFolder folder("file-unread");
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const auto refused = [](const std::string& path, const std::string& part) {
    SCOPED_TRACE(path);
    expect_error(ErrorKind::bad_input, path, part, [&] { read_file(path); });
  };
  refused(folder / "none", "No such file or directory");
  refused(folder.path(), "a folder");
  refused("/dev/zero", "a device");
  refused(pipe, "a pipe");
  const std::string socket = folder / "socket";
  ASSERT_EQ(::mknod(socket.c_str(), S_IFSOCK | 0600, 0), 0);
  refused(socket, "a socket");
  expect_error(ErrorKind::bad_input, socket, "a socket", [&] { read_stream(socket); });
  for (const char* device : {"/dev/zero", "/dev/null"}) {
    expect_error(ErrorKind::bad_input, device, "a device", [&] { read_stream(device); });
  }
}

TEST(Reading, RefusesWhatIsTooLargeBeforeItIsRead) {
  const TemporaryFolder folder("file-large");
  const std::string path = folder / "sparse";
  write_atomically(path, "");
  fs::resize_file(path, kLargestConfig + 1);
  expect_error(ErrorKind::bad_input, path, "a file of at most 67.1 MB", [&] { read_file(path); });
  fs::resize_file(path, kLargestText + 1);
  expect_error(ErrorKind::bad_input, path, "a file of at most 1.07 GB", [&] { read_stream(path); });
}

TEST(Reading, WaitsForAllThatAPipeGives) {
  const TemporaryFolder folder("file-stream");
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string large(300000, 'z');  // more than a pipe holds
  std::thread writer([&] {
    const int end = ::open(pipe.c_str(), O_WRONLY);
    for (std::size_t at = 0; at < large.size();) {
      at += static_cast<std::size_t>(::write(end, large.data() + at, large.size() - at));
    }
    ::close(end);
  });
  EXPECT_EQ(read_stream(pipe), large);
  writer.join();
}

TEST(Reading, StopsToWaitForAPipeWhenItIsAskedTo) {
  const TemporaryFolder folder("file-stop");
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(read_stream(pipe, stop.get_token()), InterruptedError) << "nobody writes";
  const int both = ::open(pipe.c_str(), O_RDWR);
  ASSERT_EQ(::write(both, "some", 4), 4);
  EXPECT_THROW(read_stream(pipe, stop.get_token()), InterruptedError) << "it has not ended";
  ::close(both);
}

TEST(MappedFile, HoldsTheBytes) {
  const TemporaryFolder folder("mapped");
  write_atomically(folder / "a", "bytes");
  const MappedFile file(folder / "a");
  ASSERT_EQ(file.bytes().size(), 5u);
  EXPECT_EQ(file.bytes()[4], std::byte{'s'});
  EXPECT_EQ(file.path(), folder / "a");
  fs::remove(folder / "a");  // a file that is replaced stays mapped as it was
  EXPECT_EQ(file.bytes()[0], std::byte{'b'});
  write_atomically(folder / "empty", "");
  EXPECT_TRUE(MappedFile(folder / "empty").bytes().empty());
}

TEST(MappedFile, SaysWhyItCannotBeMapped) {
  const TemporaryFolder folder("unmapped");
  expect_error(ErrorKind::bad_input, folder / "none", "No such file",
               [&] { MappedFile(folder / "none"); });
  expect_error(ErrorKind::bad_input, folder.path(), "a folder", [&] { MappedFile(folder.path()); });
  expect_error(ErrorKind::bad_input, "/dev/null", "a device", [] { MappedFile("/dev/null"); });
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  expect_error(ErrorKind::bad_input, pipe, "a pipe", [&] { MappedFile{pipe}; });
}

}  // namespace
}  // namespace headgauge
