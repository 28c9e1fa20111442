#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <iterator>

#include "checkpoint/blocks.hpp"
#include "checkpoint/gguf.hpp"
#include "faults.hpp"
#include "kernels/simd.hpp"
#include "made_file.hpp"
#include "made_gguf.hpp"

namespace headgauge {
namespace {

using testing::as_bytes;
using testing::expect_error;
using testing::MadeGguf;

// Bytes that outlive what is read of them.
Gguf read(const std::string& bytes) {
  return Gguf::view(as_bytes(bytes), "made.gguf");
}

void refused(std::vector<std::string> parts, const std::string& bytes,
             ErrorKind kind = ErrorKind::bad_input) {
  parts.push_back("made.gguf");
  expect_error(kind, parts, [&] { read(bytes); });
}
void refused(std::vector<std::string> parts, const MadeGguf& made,
             ErrorKind kind = ErrorKind::bad_input) {
  refused(std::move(parts), made.bytes(), kind);
}

std::uint32_t bits(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

// tests/golden/make_gguf_golden.py: what the Python package gguf makes of random blocks.
TEST(Gguf, WidensEveryTypeToTheBit) {
  const Gguf file = Gguf::open(testing::source_path("tests/golden/gguf/blocks.gguf"));
  int types = 0;
  for (const std::string& level : simd_levels()) {
    SCOPED_TRACE(level);
    set_simd_level(level);
    for (const TensorView& tensor : file.tensors()) {
      const auto widened =
          std::ranges::find(file.tensors(), tensor.name + ".widened", &TensorView::name);
      if (widened == file.tensors().end()) continue;
      SCOPED_TRACE(tensor.name);
      EXPECT_EQ(tensor.name, dtype_name(tensor.dtype));
      ++types;
      const auto found = tensor.values(), expected = widened->values();
      ASSERT_EQ(found.size(), expected.size());
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < found.size(); ++i) wrong += bits(found[i]) != bits(expected[i]);
      EXPECT_EQ(wrong, 0u);
      if (dtype_block(tensor.dtype) > 1) {  // more blocks than are decoded at once
        std::vector<std::byte> again;
        for (int k = 0; k < 100; ++k) std::ranges::copy(tensor.bytes, std::back_inserter(again));
        std::vector<float> longer(100 * expected.size());
        widen_blocks(tensor.dtype, again, 0, longer);
        for (std::size_t i = 0; i < longer.size(); ++i) {
          wrong += bits(longer[i]) != bits(expected[i % expected.size()]);
        }
      }
      EXPECT_EQ(wrong, 0u);
      // Ranges that begin and end within a block.
      for (const Index first : {Index{1}, Index{31}, Index{250}}) {
        std::vector<float> part(
            std::min<Index>(300, tensor.elements() - first > 0 ? tensor.elements() - first : 0));
        if (part.empty() || first >= tensor.elements()) continue;
        tensor.widen(part, first);
        for (std::size_t i = 0; i < part.size(); ++i) {
          wrong += bits(part[i]) != bits(expected[i + first]);
        }
      }
      EXPECT_EQ(wrong, 0u);
    }
  }
  set_simd_level("auto");
  EXPECT_EQ(types, 12 * std::ssize(simd_levels()));
}

TEST(Gguf, PutsRowsOfHeadsBack) {
  // Two heads of 4 in rows of 2, as llama.cpp's converter orders them: rows 0, 2, 1, 3 of each.
  std::vector<float> stored;
  for (const float row : {0.0f, 2.0f, 1.0f, 3.0f, 4.0f, 6.0f, 5.0f, 7.0f}) {
    stored.insert(stored.end(), {10 * row, 10 * row + 1});
  }
  const std::string bytes = MadeGguf().floats("w", {8, 2}, stored).bytes();
  const Gguf file = read(bytes);
  TensorView tensor = file.tensors()[0];
  tensor.interleaved = 4;
  EXPECT_TRUE(tensor.mapped_floats().empty());
  const auto values = tensor.values();
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(values[i], static_cast<float>(10 * (i / 2) + i % 2)) << i;
  }
  std::vector<float> part(4);  // from the middle of row 2 to that of row 4
  tensor.widen(part, 5);
  EXPECT_EQ(part, (std::vector<float>{21, 30, 31, 40}));
}

TEST(Gguf, ReadsMetadata) {
  const std::string bytes = MadeGguf()
                                .add("b", true)
                                .add("f", 1e-5f)
                                .add("n", std::uint32_t{7})
                                .add("t", "text")
                                .add("texts", std::vector<std::string>{"a", "", "bc"})
                                .add("ints", std::vector<std::int32_t>{-1, 2})
                                .bytes();
  const Gguf file = read(bytes);
  EXPECT_EQ(file.find("b")->scalar, true);
  EXPECT_EQ(file.find("f")->scalar.get<double>(), 1e-5);  // and not what float32 makes of it
  EXPECT_EQ(file.find("n")->scalar, 7);
  EXPECT_EQ(file.text("t"), "text");
  EXPECT_EQ(file.find("texts")->texts(), (std::vector<std::string_view>{"a", "", "bc"}));
  EXPECT_EQ(file.find("texts")->summary(), "a list of 3 texts");
  EXPECT_EQ(file.find("ints")->numbers(), (std::vector<nlohmann::json>{-1, 2}));
  EXPECT_EQ(file.find("none"), nullptr);
  EXPECT_EQ(file.sha256().size(), 64u);
  expect_error({"made.gguf: metadata n", "a text", "7"}, [&] { file.text("n"); });
}

TEST(Gguf, ReadsVersion2AndAnAlignmentOfItsOwn) {
  MadeGguf made;
  made.version = 2;
  made.alignment = 8;
  made.add("general.alignment", std::uint32_t{8});
  const std::string bytes = made.floats("a", {3}, {1, 2, 3}).floats("b", {1}, {4}).bytes();
  EXPECT_EQ(read(bytes).tensors()[1].values()[0], 4);
}

TEST(Gguf, SaysWhatAFailedDownloadLeft) {
  refused({"a GGUF file", "a pointer of Git LFS", "git lfs pull"},
          "version https://git-lfs.github.com/spec/v1\noid sha256:0\n");
  refused({"a page of HTML"}, "<!DOCTYPE html><html></html>");
}

TEST(Gguf, RefusesOtherVersionsByName) {
  MadeGguf made;
  made.version = 1;
  refused({"version 1", "current llama.cpp"}, made, ErrorKind::unsupported);
  made.version = 4;
  refused({"version 4"}, made, ErrorKind::unsupported);
  made.version = 0x03000000;
  refused({"big-endian", "gguf-convert-endian"}, made, ErrorKind::unsupported);
  refused({"one of 3 files", "llama-gguf-split --merge"},
          MadeGguf().entry("split.count", MadeGguf::u16, MadeGguf::raw<std::uint16_t>(3)),
          ErrorKind::unsupported);
}

TEST(Gguf, RefusesWhatIsWrongWithMetadata) {
  const auto size = [](std::uint64_t n) { return MadeGguf::raw(n); };
  const auto type = [](std::uint32_t n) { return MadeGguf::raw(n); };
  constexpr std::uint64_t kHuge = ~std::uint64_t{0};
  refused({"begins with GGUF", "\"GG\""}, "GG");
  refused({"begins with GGUF", "\"GGML\""}, std::string("GGML\0\0", 6));
  refused({"a GGUF file", "found a text"}, "GGML and more");
  refused({"metadata k", "each key once"}, MadeGguf().add("k", true).add("k", true));
  refused({"a key of the metadata", "1 to 65535"}, MadeGguf().add("", true));
  refused({"UTF-8"}, MadeGguf().add("\xff", true));
  refused({"\"k\"", "UTF-8"}, MadeGguf().add("k", "\xff"));
  refused({"\"k\"", "0 to 12", "13"}, MadeGguf().entry("k", MadeGguf::Type(13), ""));
  refused({"\"k\"", "true (1) or false (0)", "2"}, MadeGguf().entry("k", MadeGguf::boolean, "\2"));
  refused({"\"k\"", "finite"}, MadeGguf().add("k", std::numeric_limits<float>::infinity()));
  refused({"\"k\"", "cut short"}, MadeGguf().entry("k", MadeGguf::text, size(kHuge)));
  refused({"\"k\"", "at most", "cut short"},
          MadeGguf().entry("k", MadeGguf::list, type(MadeGguf::u8) + size(kHuge)));
  refused({"\"k\"", "at most", "cut short"},
          MadeGguf().entry("k", MadeGguf::list, type(MadeGguf::text) + size(1 << 30)));
  refused({"\"k\"", "lists"},
          MadeGguf().entry("k", MadeGguf::list, type(MadeGguf::list) + size(0)));
  for (const std::uint32_t alignment : {0u, 24u, 1u << 30}) {
    refused({"general.alignment", "a power of two"},
            MadeGguf().add("general.alignment", alignment));
  }
  refused({"general.alignment", "a power of two"}, MadeGguf().add("general.alignment", "32"));
  std::string counts = MadeGguf().bytes();
  std::memset(counts.data() + 8, 0xFF, 8);
  refused({"at most 65536 tensors"}, counts);
  counts = MadeGguf().bytes();
  std::memset(counts.data() + 16, 0xFF, 8);
  refused({"at most 65536 entries"}, counts);
}

TEST(Gguf, RefusesWhatIsWrongWithTensors) {
  const std::string data(64, '\0');
  refused({"\"w\"", "1 to 4 dimensions", "0"}, MadeGguf().tensor("w", {}, 0, data));
  refused({"\"w\"", "1 to 4 dimensions", "5"}, MadeGguf().tensor("w", {1, 1, 1, 1, 1}, 0, data));
  refused({"\"w\"", "sizes from 1 on"}, MadeGguf().tensor("w", {0, 4}, 0, data));
  refused({"\"w\"", "63 bits"}, MadeGguf().tensor("w", {Index{1} << 40, Index{1} << 40}, 0, data));
  refused({"\"w\"", "63 bits"}, MadeGguf().tensor("w", {-1}, 0, data));
  refused({"\"w\"", "64 bits"}, MadeGguf().tensor("w", {Index{1} << 61}, 0, data));
  refused({"\"w\"", "multiple of 32", "Q4_0", "16"}, MadeGguf().tensor("w", {2, 16}, 2, data));
  refused({"\"w\"", "within the 64 bytes", "cut short"}, MadeGguf().tensor("w", {17}, 0, data));
  refused({"\"w\"", "each name once"},
          MadeGguf().tensor("w", {8}, 0, data).tensor("w", {8}, 0, data));
  refused({"\"v\"", "an overlap", "\"w\""},
          MadeGguf().tensor("w", {24}, 0, data).tensor("v", {8}, 0, data));
  MadeGguf crooked;
  crooked.alignment = 4;
  crooked.floats("w", {1}, {1}).floats("v", {1}, {1});
  refused({"\"v\"", "multiple of 32", "4"}, crooked);
  for (const auto& [id, name] : {std::pair{16u, "IQ2_XXS"}, {9u, "Q8_1"}, {99u, "number 99"}}) {
    refused({"\"w\"", name, "Q4_K"}, MadeGguf().tensor("w", {32}, id, data),
            ErrorKind::unsupported);
  }
  // Padding behind the last tensor may be there or not.
  const std::string padded = MadeGguf().floats("w", {1}, {1}).bytes() + std::string(28, '\0');
  EXPECT_EQ(read(padded).tensors()[0].values()[0], 1);
}

// The smallest file with all that a llama has to say.
MadeGguf small_llama(std::uint32_t heads = 2) {
  MadeGguf made;
  made.add("general.architecture", "llama")
      .add("llama.block_count", std::uint32_t{1})
      .add("llama.context_length", std::uint32_t{64})
      .add("llama.embedding_length", std::uint32_t{8})
      .add("llama.feed_forward_length", std::uint32_t{4})
      .add("llama.attention.head_count", heads)
      .add("llama.attention.layer_norm_rms_epsilon", 1e-5f)
      .floats("token_embd.weight", {3, 8}, std::vector<float>(24, 0.5f));
  return made;
}

void not_translated(const std::vector<std::string>& parts, const MadeGguf& made,
                    ErrorKind kind = ErrorKind::bad_input) {
  const std::string bytes = made.bytes();
  expect_error(kind, parts, [&] { translate_gguf(read(bytes)); });
}

TEST(GgufModel, HasTheConfigAndTheNamesOfHuggingFace) {
  MadeGguf made = small_llama();
  made.add("llama.rope.freq_base", 1e5f)
      .floats("blk.0.attn_q.weight", {8, 8}, std::vector<float>(64, 1.0f))
      .floats("blk.0.attn_norm.weight", {8}, std::vector<float>(8, 1.0f))
      .floats("blk.0.other.weight", {8}, std::vector<float>(8, 1.0f));
  const std::string bytes = made.bytes();
  const GgufModel model = translate_gguf(read(bytes));
  EXPECT_EQ(
      model.config,
      R"({"model_type":"llama","hidden_size":8,"num_hidden_layers":1,)"
      R"("num_attention_heads":2,"max_position_embeddings":64,"intermediate_size":4,)"
      R"("num_key_value_heads":2,"head_dim":4,"rms_norm_eps":1e-05,"tie_word_embeddings":true,)"

      R"("attention_bias":false,"mlp_bias":false,"rope_theta":100000.0,"rope_scaling":null,)"
      R"("vocab_size":3})");
  std::vector<std::string> names;
  for (const auto& [name, tensor] : model.tensors) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{
                       "model.embed_tokens.weight", "model.layers.0.input_layernorm.weight",
                       "model.layers.0.other.weight", "model.layers.0.self_attn.q_proj.weight"}));
  EXPECT_EQ(model.tensors.at("model.layers.0.self_attn.q_proj.weight").interleaved, 4);
}

TEST(GgufModel, ZeroMeansNone) {
  const auto config_of = [](const MadeGguf& made) {
    const std::string bytes = made.bytes();
    return nlohmann::json::parse(translate_gguf(read(bytes)).config);
  };
  const auto scaling = [&](const char* type, float factor) {
    return config_of(small_llama()
                         .add("llama.rope.scaling.type", type)
                         .add("llama.rope.scaling.factor", factor))
        .at("rope_scaling");
  };
  for (const char* type : {"none", "linear", "yarn"}) EXPECT_TRUE(scaling(type, 0.0f).is_null());
  EXPECT_EQ(scaling("linear", 2.0f)["factor"], 2.0);
  EXPECT_EQ(scaling("yarn", 2.0f)["rope_type"], "yarn");
  // llama.cpp takes a factor without a type as linear, under either key.
  for (const char* key : {"llama.rope.scaling.factor", "llama.rope.scale_linear"}) {
    const auto config = config_of(small_llama().add(key, 4.0f));
    EXPECT_EQ(config["rope_scaling"]["rope_type"], "linear");
    EXPECT_EQ(config["rope_scaling"]["factor"], 4.0);
  }
  const auto config = config_of(small_llama()
                                    .add("llama.expert_count", std::uint32_t{0})
                                    .add("llama.expert_used_count", std::uint32_t{0}));
  EXPECT_EQ(config["hidden_size"], 8);
}

// What llama.cpp takes where a file states nothing (docs/models.md names its commit).
TEST(GgufModel, TakesWhatLlamaCppTakesAndSaysSo) {
  const auto read_model = [](const MadeGguf& made) {
    const std::string bytes = made.bytes();
    return translate_gguf(read(bytes));
  };
  const auto config_of = [](const GgufModel& model) { return nlohmann::json::parse(model.config); };
  MadeGguf gemma2;
  for (const char* key : {"block_count", "attention.head_count"}) {
    gemma2.add(std::string("gemma2.") + key, std::uint32_t{2});
  }
  for (const char* key : {"context_length", "embedding_length", "feed_forward_length"}) {
    gemma2.add(std::string("gemma2.") + key, std::uint32_t{8});
  }
  gemma2.add("general.architecture", "gemma2")
      .add("gemma2.attention.layer_norm_rms_epsilon", 1e-5f)
      .floats("token_embd.weight", {3, 8}, std::vector<float>(24, 0.5f));
  const GgufModel silent = read_model(gemma2);
  EXPECT_EQ(config_of(silent)["attn_logit_softcapping"], 50.0);
  EXPECT_EQ(config_of(silent)["final_logit_softcapping"], 30.0);
  EXPECT_EQ(config_of(silent)["sliding_window"], 4096);
  ASSERT_EQ(silent.notices.size(), 3u);
  expect_part(silent.notices[1],
              "metadata gemma2.attn_logit_softcapping: not stated, read as "
              "50.0, as llama.cpp does");
  gemma2.add("gemma2.attention.sliding_window", std::uint32_t{16})
      .add("gemma2.attention.sliding_window_pattern", std::uint32_t{2})
      .add("gemma2.attn_logit_softcapping", 20.0f)
      .add("gemma2.final_logit_softcapping", 10.0f);
  const GgufModel stated = read_model(gemma2);
  EXPECT_EQ(config_of(stated)["attn_logit_softcapping"], 20.0);
  EXPECT_EQ(stated.notices, std::vector<std::string>());

  const GgufModel linear = read_model(small_llama().add("llama.rope.scaling.factor", 4.0f));
  ASSERT_EQ(linear.notices.size(), 1u);
  expect_part(linear.notices[0], "llama.rope.scaling.type: not stated, read as \"linear\"");
  // Positions are divided by the factor, and the frequencies by the divisors of Llama 3, too.
  const MadeGguf divided = small_llama().floats("rope_freqs.weight", {2}, {1, 8});
  const auto factors = [&](const MadeGguf& made) {
    return config_of(read_model(made))["rope_scaling"]["long_factor"];
  };
  EXPECT_EQ(factors(divided), (nlohmann::json{1.0, 8.0}));
  EXPECT_EQ(factors(MadeGguf(divided).add("llama.rope.scaling.factor", 4.0f)),
            (nlohmann::json{4.0, 32.0}));
  EXPECT_EQ(factors(MadeGguf(divided)
                        .add("llama.rope.scaling.factor", 4.0f)
                        .add("llama.rope.scaling.type", "none")),
            (nlohmann::json{1.0, 8.0}));
  for (const char* type : {"longrope", "whatever"}) {
    not_translated({"llama.rope.scaling.type", type},
                   MadeGguf(divided).add("llama.rope.scaling.type", type), ErrorKind::unsupported);
  }
  not_translated({"llama.rope.scaling.type", "four"},
                 MadeGguf(divided).add("llama.rope.scaling.factor", "four"),
                 ErrorKind::unsupported);
  not_translated({"llama.rope.scaling.type", "yarn"},
                 MadeGguf(divided)
                     .add("llama.rope.scaling.factor", 4.0f)
                     .add("llama.rope.scaling.type", "yarn"),
                 ErrorKind::unsupported);
}

TEST(GgufModel, SaysWhichKeyEachFieldHasItsValueFrom) {
  MadeGguf made = small_llama();
  const std::string bytes =
      made.add("llama.rope.freq_base", 1e5f).add("llama.rope.scaling.factor", 2.0f).bytes();
  const auto keys = translate_gguf(read(bytes)).keys;
  EXPECT_EQ(keys.at("rope_theta"), "llama.rope.freq_base");
  EXPECT_EQ(keys.at("rope_scaling.factor"), "llama.rope.scaling.factor");
  EXPECT_EQ(keys.at("num_attention_heads"), "llama.attention.head_count");
  EXPECT_FALSE(keys.contains("head_dim"));
}

TEST(GgufModel, IsRefusedByName) {
  not_translated({"general.architecture", "none"}, MadeGguf());
  not_translated({"general.architecture", "llama", "\"mamba\""},
                 MadeGguf().add("general.architecture", "mamba"), ErrorKind::unsupported);
  not_translated({"llama.expert_count", "8"},
                 small_llama().add("llama.expert_count", std::uint32_t{8}), ErrorKind::unsupported);
  not_translated({"llama.rope.dimension_count", "2"},
                 small_llama().add("llama.rope.dimension_count", std::uint32_t{2}),
                 ErrorKind::unsupported);
  not_translated({"llama.rope.scaling.type", "\"su\""},
                 small_llama().add("llama.rope.scaling.type", "su"), ErrorKind::unsupported);
  not_translated(
      {"llama.attention.head_count_kv", "one value", "a list of 2 numbers"},
      small_llama().add("llama.attention.head_count_kv", std::vector<std::int32_t>{1, 2}));
  not_translated({"tokenizer.ggml.tokens", "3, as the embedding", "a list of 2 texts"},
                 small_llama().add("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b"}));
  not_translated({"llama.vocab_size", "3, as the embedding", "4"},
                 small_llama().add("llama.vocab_size", std::uint32_t{4}));
  not_translated({"blk.0.attn_k.weight", "heads of 4", "[6, 1]"},
                 small_llama().floats("blk.0.attn_k.weight", {6, 1}, std::vector<float>(6, 1.0f)));
  for (const std::uint32_t heads : {3u, 9u}) {  // 9: heads of no size, found by fuzzing
    not_translated(
        {"llama.embedding_length", fmt::format("head_count = {}", heads), "8"},
        small_llama(heads).floats("blk.0.attn_q.weight", {8, 8}, std::vector<float>(64, 1.0f)));
  }
  MadeGguf vocabulary;  // as the test vectors of llama.cpp: a tokenizer without weights
  vocabulary.add("general.architecture", "llama");
  not_translated({"llama.embedding_length", "none"}, vocabulary);
}

}  // namespace
}  // namespace headgauge
