#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/file.hpp"
#include "base/sha256.hpp"
#include "headgauge/model.hpp"
#include "headgauge/results.hpp"
#include "tokenize/first_tokens.hpp"
#include "tokenize/text_checker.hpp"

namespace headgauge {

namespace {

// Reads a text that arrives in pieces, once to its end.
class DocumentReader {
 public:
  DocumentReader(const std::string& name, const Tokenizer& tokenizer, bool with_texts,
                 std::size_t most)
      : name_(name),
        tokenizer_(tokenizer),
        with_texts_(with_texts),
        first_(tokenizer, most, with_texts),
        checker_(name, [this](std::string_view characters) { first_.add(characters); }) {}

  void add(std::string_view piece) {
    sum_.add(std::as_bytes(std::span(piece)));
    checker_.add(piece);
  }

  Document finish(bool causal) {
    checker_.finish();
    FirstTokens::Found found = first_.finish();
    // A text that was cut has not ended, so a causal model gets no end token.
    if (causal && !found.whole) found.around.after.clear();
    Document document{name_, std::move(found.tokens), sum_.hex()};
    if (with_texts_) {
      for (const int id : found.around.before) document.texts.push_back(tokenizer_.piece(id));
      std::ranges::move(found.texts, std::back_inserter(document.texts));
      for (const int id : found.around.after) document.texts.push_back(tokenizer_.piece(id));
    }
    document.before = std::move(found.around.before);
    document.goes_on = !found.whole;
    std::vector<int>& end = causal ? document.tokens : document.after;
    end.insert(end.end(), found.around.after.begin(), found.around.after.end());
    document.total = document.size();
    return document;
  }

 private:
  std::string name_;
  const Tokenizer& tokenizer_;
  bool with_texts_;
  Sha256 sum_;
  FirstTokens first_;
  TextChecker checker_;
};

// Adds one entry for each task of each file, in the order of the documents.
void describe_tasks(std::span<const Document> documents, Results& results) {
  std::vector<TaskRecord>& tasks = results.text.tasks;
  std::vector<Sha256> sums;
  for (const Document& document : documents) {
    if (document.answer.tokens == 0) continue;
    const auto is_same = [&](const TaskRecord& one) {
      return one.name == document.name && one.task == document.answer.task;
    };
    const auto found = std::ranges::find_if(tasks, is_same);
    const auto place = static_cast<std::size_t>(found - tasks.begin());
    if (found == tasks.end()) {
      tasks.push_back(
          {.task = document.answer.task, .name = document.name, .shortest = std::ssize(document)});
      sums.emplace_back();
    }
    TaskRecord& task = tasks[place];
    sums[place].add(std::as_bytes(std::span(document.sha256)));
    if (document.answer.control_of >= 0) {
      ++task.controls;
      continue;
    }
    ++task.cases;
    task.shortest = std::min<Index>(task.shortest, std::ssize(document));
    task.tokens = std::max<Index>(task.tokens, std::ssize(document));
  }
  for (std::size_t t = 0; t < tasks.size(); ++t) tasks[t].sha256 = sums[t].hex();
}

}  // namespace

Document read_document(const std::string& path, const Tokenizer& tokenizer, bool causal,
                       bool with_texts, const std::stop_token& stop, std::size_t most) {
  // Reads only once, because a pipe cannot be read again.
  DocumentReader reader(path, tokenizer, with_texts, most);
  read_pieces(path, stop, [&](std::string_view piece) { reader.add(piece); });
  return reader.finish(causal);
}

Document parse_document(std::string_view text, const std::string& name, const Tokenizer& tokenizer,
                        bool causal, bool with_texts, std::size_t most) {
  DocumentReader reader(name, tokenizer, with_texts, most);
  reader.add(text);
  return reader.finish(causal);
}

Document make_document(std::vector<int> ids, const std::string& name) {
  refuse_if(ids.empty(), name, "token ids", "none", "give those of a text");
  Sha256 sum;
  for (const int id : ids) {
    const std::string line = fmt::format("{}\n", id);
    sum.add(std::as_bytes(std::span(line)));
  }
  Document document{name, std::move(ids), sum.hex()};
  document.total = document.size();
  return document;
}

Document make_case(std::vector<int> prompt, std::span<const int> answered, MarkedAnswer answer,
                   const std::string& name) {
  refuse_if(prompt.empty() || answered.empty(), name, "a prompt and an answer",
            prompt.empty() ? "no prompt" : "no answer", "leave the case out");
  answer.tokens = std::ssize(answered);
  for (const int token : answered) prompt.push_back(token);
  Document document = make_document(std::move(prompt), name);
  const std::string whole =
      fmt::format("{} {} {}", document.sha256, answer.tokens, answer.control_of >= 0);
  document.sha256 = sha256_hex(std::as_bytes(std::span(whole)));
  document.answer = std::move(answer);
  return document;
}

Document read_ids(const std::string& path, const std::stop_token& stop) {
  const std::string bytes = read_stream(path, stop);
  Document document{path, parse_token_ids(bytes, path),
                    sha256_hex(std::as_bytes(std::span(bytes)))};
  document.total = document.size();
  return document;
}

bool Document::has_ids_below(Index vocabulary) const {
  return std::ranges::all_of(tokens, [&](int id) { return id >= 0 && id < vocabulary; });
}

void Document::release(std::function<Document()> read) {
  released = tokens.size();
  tokens = std::vector<int>();  // releases the memory, which = {} would not
  read_again = std::move(read);
}

void Document::hold(std::vector<int> ids) {
  tokens = std::move(ids);
  read_again = nullptr;
  released = 0;
}

void Document::require_room(Index length) const {
  const auto around = static_cast<Index>(before.size() + after.size());
  refuse_if(length < around, "ScanOptions::lengths",
            fmt::format("at least {}, because {} special tokens surround a text", around, around),
            std::to_string(length), "ask for longer ones, or give token ids");
}

std::vector<int> Document::tokens_read_again() const {
  Document again = read_again();
  refuse_if(again.sha256 != sha256 || again.tokens.size() < released, name,
            "the text as it was when the run began", "another one",
            "do not change texts during a run");
  return std::move(again.tokens);
}

std::vector<int> Document::context(Index length) const {
  require_room(length);
  const std::vector<int> again = holds_tokens() ? std::vector<int>() : tokens_read_again();
  const std::vector<int>& inner = holds_tokens() ? tokens : again;
  const std::size_t around = before.size() + after.size();
  const std::size_t count = std::min(static_cast<std::size_t>(length), size()) - around;
  std::vector<int> ids = before;
  ids.insert(ids.end(), inner.begin(), inner.begin() + static_cast<std::ptrdiff_t>(count));
  ids.insert(ids.end(), after.begin(), after.end());
  return ids;
}

std::vector<std::string> Document::context_texts(Index length) const {
  std::vector<std::string> of_context;
  if (texts.empty()) {
    for (const int id : context(length)) of_context.push_back(std::to_string(id));
    return of_context;
  }
  const Index ends = std::ssize(after);
  const Index begins = std::min<Index>(length, std::ssize(texts)) - ends;
  of_context.assign(texts.begin(), texts.begin() + begins);
  of_context.insert(of_context.end(), texts.end() - ends, texts.end());
  return of_context;
}

std::vector<MarkedAnswer> answers_of(std::span<const Document> documents) {
  std::vector<MarkedAnswer> answers;
  for (const Document& document : documents) answers.push_back(document.answer);
  const bool any = std::ranges::any_of(answers, [](const auto& one) { return one.tokens > 0; });
  return any ? answers : std::vector<MarkedAnswer>();
}

void describe_documents(std::span<const Document> documents, const SourceInfo& source,
                        Results& results) {
  TextRecord& text = results.text;
  std::vector<Index> first;
  for (Index d = 0; d < std::ssize(documents); ++d) {
    if (!source.is_measured(d)) continue;
    const Document& document = documents[d];
    text.names.push_back(document.name);
    text.sha256.emplace_back(document.sha256);
    text.tokens.push_back(std::ssize(document));
    auto& total = text.tokens_total.emplace_back();
    if (!document.goes_on) total = std::max(document.total, document.size());
    first.push_back(static_cast<Index>(document.first));
  }
  // A piece may begin anywhere in its text.
  if (std::ranges::any_of(first, [](Index at) { return at > 0; })) text.first = std::move(first);
  describe_tasks(documents, results);
}

void Document::cut(std::size_t length) {
  const std::size_t around = before.size() + after.size();
  const std::size_t kept = std::min(size() - around, length > around ? length - around : 0);
  if (!texts.empty()) {
    const auto dropped = texts.begin() + std::ssize(before) + static_cast<std::ptrdiff_t>(kept);
    texts.erase(dropped, texts.end() - std::ssize(after));
  }
  if (!holds_tokens()) {
    released = kept;
    return;
  }
  tokens.resize(kept);
  tokens.shrink_to_fit();
}

}  // namespace headgauge
