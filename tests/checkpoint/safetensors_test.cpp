#include <gtest/gtest.h>

#include <filesystem>

#include "headgauge/checkpoint.hpp"
#include "made_file.hpp"

namespace headgauge {
namespace {

using testing::as_bytes;
using testing::expect_error;
using testing::made_safetensors;
using testing::raw;
using testing::TemporaryFolder;

// Two tensors, 24 bytes of data, and metadata.
const char* const kHeader = R"({"__metadata__":{"format":"pt"},)"
                            R"("a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
                            R"("b":{"dtype":"F16","shape":[4],"data_offsets":[16,24]}})";
const std::string kData(24, '\0');

Safetensors parse(const std::string& bytes) {
  return Safetensors::view(as_bytes(bytes), "made.safetensors");
}

TEST(SafetensorsReader, FindsTensorsAndMetadata) {
  const std::string bytes = made_safetensors(kHeader, kData);
  const Safetensors file = parse(bytes);
  ASSERT_EQ(file.tensors().size(), 2u);
  EXPECT_EQ(file.metadata().at("format"), "pt");
  const TensorView& a = file.require("a");
  EXPECT_EQ(a.dtype, DType::F32);
  EXPECT_EQ(a.shape, (std::vector<Index>{2, 2}));
  EXPECT_EQ(a.bytes.data(), as_bytes(bytes).data() + bytes.size() - 24);
  EXPECT_EQ(file.require("b").bytes.size(), 8u);
  EXPECT_EQ(file.find("c"), nullptr);
  expect_error({"made.safetensors", "\"c\""}, [&] { file.require("c"); });
}

TEST(SafetensorsReader, TakesWhatTheFormatAllows) {
  // No tensors; spaces behind the header; a scalar; no elements; any order of entries.
  EXPECT_TRUE(parse(made_safetensors("{}      ", "")).tensors().empty());
  const std::string bytes =
      made_safetensors(R"({"s":{"dtype":"F32","shape":[],"data_offsets":[3,7]},)"
                       R"("z":{"dtype":"I64","shape":[0,5],"data_offsets":[3,3]},)"
                       R"("u":{"dtype":"U8","shape":[3],"data_offsets":[0,3],"extra":1}}  )",
                       std::string(3, '\1') + raw<float>({2.5f}));
  const Safetensors file = parse(bytes);
  EXPECT_EQ(file.require("s").values()[0], 2.5f);
  EXPECT_EQ(file.require("z").elements(), 0);
}

TEST(SafetensorsReader, CountsSubByteTypesInBits) {
  const std::string header = R"({"f":{"dtype":"F4","shape":[6],"data_offsets":[0,3]}})";
  EXPECT_EQ(parse(made_safetensors(header, "abc")).require("f").bytes.size(), 3u);
  const std::string odd = R"({"f":{"dtype":"F4","shape":[5],"data_offsets":[0,3]}})";
  expect_error({"\"f\"", "whole number of bytes"}, [&] { parse(made_safetensors(odd, "abc")); });
}

TEST(SafetensorsReader, RefusesEveryMalformationByName) {
  const auto refused = [](const std::string& bytes, std::vector<std::string> parts) {
    SCOPED_TRACE(bytes.substr(0, 200));
    parts.push_back("made.safetensors");
    expect_error(parts, [&] { parse(bytes); });
  };
  const auto with = [&](const std::string& header, const std::vector<std::string>& parts,
                        std::size_t data = 0) {
    refused(made_safetensors(header, std::string(data, '\0')), parts);
  };
  // Every message names the tensor "w".
  const auto entry = [&](const std::string& fields, std::vector<std::string> parts,
                         std::size_t data = 1) {
    parts.push_back("\"w\"");
    with("{\"w\":{" + fields + "}}", parts, data);
  };
  refused("", {"0 bytes"});
  refused("1234567", {"7 bytes"});
  std::string wrong = made_safetensors(kHeader, kData);
  wrong[1] = '\x7f';
  refused(wrong, {"header length of 32", "cut short"});
  for (int i = 0; i < 8; ++i) wrong[i] = '\xff';
  refused(wrong, {"18446744073709551615"});
  with("", {"begins with {"});
  with("{\"a\":", {"JSON", "byte 5"});
  with("hello", {"begins with {", "hello"});
  with("[1, 2]", {"begins with {"});
  with("{} {}", {"JSON", "byte 3"});
  with("{\"\xff\":1}", {"not UTF-8", "byte 2"});
  with("{\"a\":" + std::string(100000, '[') + "}", {"nested deeper"});
  with(R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
       R"("w":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
       {"\"w\"", "twice"}, 2);
  with(R"({"__metadata__":[]})", {"__metadata__", "a list of 0"});
  with(R"({"__metadata__":{"k":3}})", {"__metadata__", "\"k\"", "3"});
  with("{\"w\":[1]}", {"\"w\"", "a list of 1"});
  entry(R"("shape":[1],"data_offsets":[0,1])", {"dtype"});
  entry(R"("dtype":"U8","data_offsets":[0,1])", {"shape"});
  entry(R"("dtype":"U8","shape":[1])", {"data_offsets"});
  entry(R"("dtype":3,"shape":[1],"data_offsets":[0,1])", {"dtype", "3"});
  entry(R"("dtype":"F17","shape":[1],"data_offsets":[0,1])", {"\"F17\"", "BF16", "F64"});
  entry(R"("dtype":"U8","shape":1,"data_offsets":[0,1])", {"shape", "1"});
  entry(R"("dtype":"U8","shape":[-1],"data_offsets":[0,1])", {"shape", "-1"});
  entry(R"("dtype":"U8","shape":[1.0],"data_offsets":[0,1])", {"shape", "1.0"});
  entry(R"("dtype":"U8","shape":["1"],"data_offsets":[0,1])", {"shape", "found \"1\""});
  entry(R"("dtype":"U8","shape":[9223372036854775808],"data_offsets":[0,1])",
        {"9223372036854775808"});
  entry(R"("dtype":"F32","shape":[4294967296,4294967296,4],"data_offsets":[0,0])",
        {"63 bits", "[4294967296, 4294967296, 4]"}, 0);
  entry(R"("dtype":"F32","shape":[1152921504606846976],"data_offsets":[0,0])", {"63 bits"}, 0);
  entry(R"("dtype":"U8","shape":[1],"data_offsets":[0])", {"data_offsets", "[0]"});
  entry(R"("dtype":"U8","shape":[1],"data_offsets":[1,0])", {"data_offsets", "[1,0]"});
  entry(R"("dtype":"F32","shape":[2],"data_offsets":[0,4])",
        {"8 bytes for F32 of shape [2]", "4 bytes"}, 4);
  entry(R"("dtype":"F32","shape":[2],"data_offsets":[0,8])", {"4 bytes of the file", "[0, 8)"}, 4);
  entry(R"("dtype":"U8","shape":[1],"data_offsets":[1,2])", {"a gap", "[1, 2)"}, 2);
  with(R"({"v":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
       R"("w":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
       {"\"w\"", "an overlap", "\"v\"", "[1, 3)"}, 3);
  with(R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
       {"1 bytes of tensors", "2 bytes of data"}, 2);
  refused("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n",
          {"a pointer of Git LFS", "git lfs pull"});
  refused("<!doctype html>\n<html></html>", {"a page of HTML", "/resolve/"});
  with("{\"w\\n\":3}", {"\"w\\x0a\""});
}

TEST(SafetensorsReader, SaysWhatAFileOfAnotherKindIs) {
  const auto expect = [](const std::string& bytes, const std::vector<std::string>& parts) {
    SCOPED_TRACE(bytes);
    expect_error(parts, [&] { parse(bytes); });
  };
  expect("THE TIDE HOUSE\n", {"expected a safetensors file, found a text", "--text"});
  expect("“Heavens! what a virulent attack!”", {"found a text"});
  expect("{\n  \"schema\": \"headgauge.results/3\"}", {"found JSON", "headgauge report"});
  expect("{\"prompt\": \"a\"}\n{\"prompt\": \"b\"}\n", {"found JSON", "--tasks"});
  expect(std::string("\x93NUMPY\x01\x00v\x00", 10), {"an array of NumPy", "docs/formats.md"});
  expect(std::string("PK\x03\x04\x00\x00\x08\x08\x00", 9), {"found a zip archive", "torch.save"});
  expect(std::string("GGUF\x03\x00\x00\x00", 8), {"found a GGUF file", "name that file"});
  expect("version https://git-lfs.github.com/spec/v1\n", {"a pointer of Git LFS"});
  expect("<html><body>", {"a page of HTML"});
  // A length in this place ends with zeros, whatever letter its first byte is.
  expect(std::string("{\0\0\0\0\0\0\0{}", 10), {"a header length of 123", "cut short"});
  expect("\x93\x94\x95\x96\x97\x98\x99\x9a", {"a header length of", "not in the safetensors"});
}

TEST(SafetensorsReader, RefusesAFileCutAtAnyByte) {
  const std::string whole = made_safetensors(kHeader, kData);
  static_cast<void>(parse(whole));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::vector<char> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    expect_error({"cut.safetensors"},
                 [&] { Safetensors::view(std::as_bytes(std::span(cut)), "cut.safetensors"); });
  }
}

TEST(SafetensorsReader, LooksNoFurtherThanTheBytesItWasGiven) {
  // What lies behind the end would make the header whole.
  const std::string bytes = made_safetensors("{} ", "");
  for (std::size_t cut = 1; cut <= 3; ++cut) {
    expect_error({"header length of 3"}, [&] {
      Safetensors::view(as_bytes(bytes).first(bytes.size() - cut), "made.safetensors");
    });
  }
}

TEST(SafetensorsReader, SaysWhyAPathCannotBeRead) {
  const TemporaryFolder folder("safetensors-paths");
  expect_error({folder / "none", "No such file"}, [&] { Safetensors::open(folder / "none"); });
  expect_error({folder.path(), "a folder"}, [&] { Safetensors::open(folder.path()); });
  expect_error({"/dev/null", "device"}, [&] { Safetensors::open("/dev/null"); });
}

TEST(SafetensorsWriter, WritesWhatIsRead) {
  const TemporaryFolder folder("safetensors-round");
  const std::string path = folder / "a.safetensors";
  const std::string halves = raw<std::uint16_t>({0x3C00, 0xC000, 0x0001});
  const std::string flag = "\1";
  const std::vector<float> values = {1.5f, -2.0f, 3.25f, 0.0f, 1e-40f, 7.0f};
  const TensorData tensors[] = {
      {"flag", DType::BOOL, {1}, as_bytes(flag)},
      {"half \"quoted\" \xC3\xA9", DType::F16, {3}, as_bytes(halves)},
      float_tensor("single", {2, 3}, values),
  };
  write_safetensors(path, tensors, {{"format", "pt"}, {"note", "a\nb"}});

  const Safetensors file = Safetensors::open(path);
  EXPECT_EQ(file.metadata(),
            (std::map<std::string, std::string>{{"format", "pt"}, {"note", "a\nb"}}));
  ASSERT_EQ(file.tensors().size(), 3u);
  const Matrix<float> single = file.require("single").matrix();
  EXPECT_EQ(single.rows(), 2);
  EXPECT_EQ(std::vector<float>(single.data(), single.data() + 6), values);
  const auto half = file.require("half \"quoted\" \xC3\xA9").values();
  EXPECT_EQ(std::vector<float>(half.begin(), half.end()),
            (std::vector<float>{1.0f, -2.0f, 0x1p-24f}));
  for (const TensorView& tensor : file.tensors()) {
    const auto address = reinterpret_cast<std::uintptr_t>(tensor.bytes.data());
    EXPECT_EQ(address % static_cast<std::size_t>(dtype_bits(tensor.dtype) / 8), 0u) << tensor.name;
  }
  EXPECT_EQ(file.require("single").mapped_floats().size(), 6u);
}

TEST(SafetensorsWriter, WritesTheBytesOfTheFormat) {
  // The example of the reference implementation's own test.
  const TemporaryFolder folder("safetensors-bytes");
  const std::vector<float> values = {0, 1, 2, 3, 4, 5};
  const TensorData tensors[] = {float_tensor("attn.0", {1, 2, 3}, values)};
  write_safetensors(folder / "a.safetensors", tensors);
  EXPECT_EQ(testing::read_bytes(folder / "a.safetensors"),
            made_safetensors(R"({"attn.0":{"dtype":"F32","shape":[1,2,3],"data_offsets":[0,24]}})",
                             raw<float>({0, 1, 2, 3, 4, 5})));
}

TEST(SafetensorsWriter, RefusesWhatNoReaderWouldTake) {
  const TemporaryFolder folder("safetensors-refuse");
  const std::string path = folder / "a.safetensors";
  const std::vector<float> values = {1, 2};
  const TensorData wrong[] = {float_tensor("w", {3}, values)};
  expect_error(ErrorKind::usage, {"\"w\"", "[3]"}, [&] { write_safetensors(path, wrong); });
  const TensorData twice[] = {float_tensor("w", {2}, values), float_tensor("w", {2}, values)};
  expect_error(ErrorKind::usage, {"\"w\""}, [&] { write_safetensors(path, twice); });
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  expect_error(ErrorKind::resource, {folder / "no/where"},
               [&] { write_safetensors(folder / "no/where", std::span(wrong).first(0)); });
}

}  // namespace
}  // namespace headgauge
