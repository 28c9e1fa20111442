// The C ABI of the Rust crate in tokenize/ffi, which says what each function does.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

struct HgTokenizer;

void hg_memory_limit(std::size_t bytes);
void hg_out_of_memory_handler(void (*handler)(std::size_t bytes));
HgTokenizer* hg_tokenizer_from_json(const std::uint8_t* json, std::size_t size,
                                    const std::uint8_t* added, std::size_t added_size,
                                    char** error);
void hg_tokenizer_free(HgTokenizer* tokenizer);
bool hg_tokenizer_encode(const HgTokenizer* tokenizer, const std::uint8_t* text, std::size_t size,
                         bool add_special, std::uint32_t** ids, std::size_t* count,
                         std::size_t* before, std::size_t* after, std::size_t** ends, char** error);
void hg_ids_free(std::uint32_t* ids, std::size_t count);
void hg_ends_free(std::size_t* ends, std::size_t count);
char* hg_tokenizer_piece(const HgTokenizer* tokenizer, std::uint32_t id, char** error);
char* hg_tokenizer_decode(const HgTokenizer* tokenizer, const std::uint32_t* ids, std::size_t count,
                          char** error);
std::size_t hg_tokenizer_vocabulary(const HgTokenizer* tokenizer);
void hg_string_free(char* text);

}  // extern "C"
