#include "cli/exchange_documents.hpp"

#include <gtest/gtest.h>

#include <barrier>
#include <numeric>
#include <thread>

namespace headgauge::cli {
namespace {

constexpr int kRanks = 3;
constexpr Index kVocabulary = 5000;

// Ranks that are threads.
struct Meeting {
  std::barrier<> all{kRanks};
  std::vector<Bytes> given{kRanks};
};
class ThreadRank final : public Ranks {
 public:
  ThreadRank(Meeting& meeting, int index) : meeting_(meeting), index_(index) {}
  Share share() const override { return {index_, kRanks}; }
  std::unique_ptr<PartExchange> exchange(std::stop_token) override { return nullptr; }
  void gather(Bytes own, const Visit& visit) override {
    meeting_.given[static_cast<std::size_t>(index_)] = std::move(own);
    meeting_.all.arrive_and_wait();
    for (int rank = 0; rank < kRanks; ++rank) {
      visit(rank, meeting_.given[static_cast<std::size_t>(rank)]);
    }
    meeting_.all.arrive_and_wait();
  }
  void end(const std::string&) noexcept override {}

 private:
  Meeting& meeting_;
  int index_;
};

Document document(std::size_t i) {
  Document document{"text " + std::to_string(i), std::vector<int>(40 + 97 * i % 60), "sum"};
  std::iota(document.tokens.begin(), document.tokens.end(), static_cast<int>(i) * 100);
  document.before = {1};
  document.after = {2, 3};
  document.total = document.size() + i;
  return document;
}

struct Exchanged {
  std::vector<std::optional<Document>> documents;
  std::shared_ptr<int> read = std::make_shared<int>(0);  // again
};

// Rank r has read documents r, r + 3, ...
std::vector<Exchanged> exchanged(std::size_t count, DocumentExchange exchange,
                                 const std::function<Document(std::size_t)>& original = document) {
  for (std::size_t i = 0; i < count; ++i) exchange.paths.push_back(std::to_string(i));
  exchange.vocabulary = kVocabulary;
  std::vector<Exchanged> all(kRanks);
  Meeting meeting;
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank, of_rank = exchange]() mutable {
      Exchanged& own = all[static_cast<std::size_t>(rank)];
      own.documents.resize(count);
      for (auto i = static_cast<std::size_t>(rank); i < count; i += kRanks) {
        own.documents[i] = original(i);
      }
      of_rank.read = [original, read = own.read, given = exchange.read](std::size_t i) {
        ++*read;
        return given ? given(i) : original(i);
      };
      ThreadRank ranks(meeting, rank);
      exchange_documents(of_rank, ranks, own.documents);
    });
  }
  threads.clear();
  return all;
}

TEST(ExchangeDocuments, EachRankHoldsTheIdsThatItMeasuresAndReadsOthersWhereItNeedsThem) {
  constexpr std::size_t kCount = 20;
  std::vector<Index> lengths;
  for (std::size_t i = 0; i < kCount; ++i) lengths.push_back(std::ssize(document(i)));
  const std::vector<int> owners = deal_to_ranks(document_costs(lengths), kRanks);
  const std::vector<Exchanged> all = exchanged(kCount, {.holds_own_alone = true});
  for (int rank = 0; rank < kRanks; ++rank) {
    const auto& [documents, read] = all[static_cast<std::size_t>(rank)];
    for (std::size_t i = 0; i < kCount; ++i) {
      ASSERT_TRUE(documents[i].has_value());
      const Document expected = document(i);
      const Document& found = *documents[i];
      EXPECT_EQ(found.holds_tokens(), owners[i] == rank) << i << " of rank " << rank;
      EXPECT_EQ(found.tokens.empty(), owners[i] != rank) << i << " of rank " << rank;
      EXPECT_EQ(found.size(), expected.size());
      EXPECT_EQ(found.total, expected.total);
      EXPECT_EQ(found.name, expected.name);
      const int before = *read;
      for (const Index length : {Index{10}, std::ssize(expected)}) {
        EXPECT_EQ(found.context(length), expected.context(length));
        EXPECT_EQ(found.context_texts(length), expected.context_texts(length));
      }
      EXPECT_EQ(*read - before, owners[i] == rank ? 0 : 4);
    }
  }
}

TEST(ExchangeDocuments, AllRanksHoldWhatIsAskedForAndWhatIsNotOfTheModel) {
  for (const Exchanged& rank : exchanged(7, {})) {
    for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(rank.documents[i]->tokens, document(i).tokens);
  }
  const auto strange = [](std::size_t i) {
    Document other = document(i);
    if (i == 4) other.tokens.back() = kVocabulary;
    return other;
  };
  for (const Exchanged& rank : exchanged(7, {.holds_own_alone = true}, strange)) {
    EXPECT_EQ(rank.documents[4]->tokens, strange(4).tokens);
  }
}

TEST(ExchangeDocuments, WhatWasReleasedIsCutAsWhatIsHeld) {
  for (const Exchanged& rank : exchanged(5, {.holds_own_alone = true})) {
    for (std::size_t i = 0; i < 5; ++i) {
      Document found = *rank.documents[i], expected = document(i);
      found.cut(30);
      expected.cut(30);
      EXPECT_EQ(found.size(), 30U);
      EXPECT_EQ(found.context(30), expected.context(30));
      EXPECT_THROW(found.require_room(2), BadInputError);
      EXPECT_THROW(found.context(2), BadInputError);
    }
  }
}

TEST(ExchangeDocuments, ATextThatChangedIsNamed) {
  DocumentExchange exchange{.holds_own_alone = true};
  exchange.read = [](std::size_t i) {
    Document other = document(i);
    other.sha256 = "another sum";
    return other;
  };
  int refused = 0;
  for (const Exchanged& rank : exchanged(6, exchange)) {
    for (const auto& document : rank.documents) {
      if (document->holds_tokens()) continue;
      try {
        document->context(20);
        ADD_FAILURE() << document->name;
      } catch (const BadInputError& error) {
        EXPECT_NE(std::string(error.what())
                      .find(document->name + ": expected the text that it was when the run began"),
                  std::string::npos)
            << error.what();
        ++refused;
      }
    }
  }
  EXPECT_EQ(refused, 6 * (kRanks - 1));
}

}  // namespace
}  // namespace headgauge::cli
