#include "cli/exchange_documents.hpp"

#include <algorithm>
#include <utility>

#include "headgauge/bytes.hpp"
#include "headgauge/journal.hpp"

namespace headgauge::cli {
namespace {

void put_document(const Document& document, bool with_tokens, ByteWriter& to) {
  to.put_text(document.name);
  to.put(with_tokens);
  with_tokens ? to.put_list(document.tokens) : to.put(document.tokens.size());
  to.put_text(document.sha256);
  to.put(document.total);
  to.put(document.goes_on);
  to.put_list(document.before);
  to.put_list(document.after);
  to.put(document.first);
  to.put(document.texts.size());
  for (const std::string& text : document.texts) to.put_text(text);
}

// Where the ids do not come with it, `released` says how many there are.
Document take_document(ByteReader& from) {
  Document document;
  document.name = from.take_text();
  if (from.take<bool>()) {
    document.tokens = from.take_list<int>();
  } else {
    document.released = from.take<std::size_t>();
  }
  document.sha256 = from.take_text();
  document.total = from.take<std::size_t>();
  document.goes_on = from.take<bool>();
  document.before = from.take_list<int>();
  document.after = from.take_list<int>();
  document.first = from.take<std::size_t>();
  for (auto left = from.take<std::size_t>(); left > 0; --left) {
    document.texts.push_back(from.take_text());
  }
  return document;
}

class Exchange {
 public:
  Exchange(const DocumentExchange& given, Ranks& ranks,
           std::vector<std::optional<Document>>& documents)
      : given_(given), ranks_(ranks), documents_(documents) {
    std::string paths;
    for (const std::string& path : given.paths) paths += path + '\n';
    sum_ = std::hash<std::string>()(paths);
    for (std::size_t i = 0; i < documents.size(); ++i) {
      if (documents[i]) own_.push_back(i);
    }
  }

  void run() {
    tell_all();
    tell_owners();
  }

 private:
  // Ids that are none of the model's go to all: each tells of them as a process by itself does.
  bool sends_to_owner(const Document& document) const {
    return given_.holds_own_alone && document.has_ids_below(given_.vocabulary);
  }

  // What is known of the documents, and the ids of those that all hold.
  void tell_all() {
    ByteWriter message;
    message.put(sum_);
    for (const std::size_t i : own_) {
      message.put(i);
      put_document(*documents_[i], !sends_to_owner(*documents_[i]), message);
    }
    gather(std::move(message), [&](std::size_t i, ByteReader& from) {
      documents_.at(i) = take_document(from);
      if (documents_[i]->released > 0) documents_[i]->read_again = reader(i);
    });
  }

  // The ids of those that one rank measures, to that one.
  void tell_owners() {
    const std::vector<int> owners = owners_by_length();
    const int me = ranks_.share().index;
    ByteWriter message;
    message.put(sum_);
    for (const std::size_t i : own_) {
      Document& document = *documents_[i];
      if (owners[i] == me || !sends_to_owner(document)) continue;
      message.put(i);
      message.put_list(document.tokens);
      document.release(reader(i));
    }
    gather(std::move(message), [&](std::size_t i, ByteReader& from) {
      std::vector<int> tokens = from.take_list<int>();
      if (owners.at(i) == me) documents_[i]->hold(std::move(tokens));
    });
  }

  // As the journal will deal them out: where that turns out otherwise, a rank reads what it needs.
  std::vector<int> owners_by_length() const {
    std::vector<Index> lengths;
    for (const auto& document : documents_) {
      const std::size_t size = document ? document->size() : 0;
      lengths.push_back(static_cast<Index>(given_.most > 0 ? std::min(size, given_.most) : size));
    }
    return deal_to_ranks(document_costs(lengths), ranks_.share().count);
  }

  std::function<Document()> reader(std::size_t i) const {
    return [read = given_.read, i] { return read(i); };
  }

  // Visits what other ranks of the same files say of each document that they have read.
  void gather(ByteWriter own, const std::function<void(std::size_t, ByteReader&)>& visit) {
    ranks_.gather(own.take(), [&](int rank, const Bytes& given) {
      ByteReader from(given);
      if (from.take<std::uint64_t>() != sum_ || rank == ranks_.share().index) return;
      while (!from.at_end()) {
        const auto i = from.take<std::size_t>();
        visit(i, from);
      }
    });
  }

  const DocumentExchange& given_;
  Ranks& ranks_;
  std::vector<std::optional<Document>>& documents_;
  std::uint64_t sum_ = 0;  // of the files
  std::vector<std::size_t> own_;
};

}  // namespace

void exchange_documents(const DocumentExchange& exchange, Ranks& ranks,
                        std::vector<std::optional<Document>>& documents) {
  Exchange(exchange, ranks, documents).run();
}

}  // namespace headgauge::cli
