// Ranks by MPI, for the program that is linked with it.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "cli/ranks.hpp"

#ifdef HEADGAUGE_MPI
#include <mpi.h>
#endif

namespace headgauge::cli {
namespace {

// How many processes mpirun (Open MPI, MPICH and what Slurm starts in their place) started.
int started_together() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    const char* const size = std::getenv(name);
    if (size != nullptr && *size != '\0') return std::atoi(size);
  }
  return 1;
}

#ifdef HEADGAUGE_MPI

enum Tag : int { kPartTag = 1, kEndTag = 2 };
constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;  // bytes of a message

// Of the first rank: which others have ended.
std::set<int>& ended_ranks() {
  static std::set<int> ended;
  return ended;
}

Bytes message_of(const PartKey& key, const Bytes& part) {
  ByteWriter message;
  message.put_text(key.stage);
  message.put(key.layer);
  message.put(key.document);
  message.put_all(std::span<const std::byte>(part));
  return message.take();
}

// What arrived next from a rank, if something did.
struct Arrival {
  bool is_end = false;
  Bytes bytes;
};
std::optional<Arrival> arrival(int from) {
  MPI_Status status;
  int there = 0;
  MPI_Iprobe(from, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &status);
  if (there == 0) return std::nullopt;
  int size = 0;
  MPI_Get_count(&status, MPI_BYTE, &size);
  Arrival arrival{status.MPI_TAG == kEndTag, Bytes(static_cast<std::size_t>(size))};
  MPI_Recv(arrival.bytes.data(), size, MPI_BYTE, from, status.MPI_TAG, MPI_COMM_WORLD, &status);
  if (arrival.is_end) ended_ranks().insert(from);
  return arrival;
}

void pause() {
  std::this_thread::sleep_for(std::chrono::microseconds(200));
}

[[noreturn]] void fail_by(int rank, const std::string& error) {
  throw ResourceError(fault(fmt::format("rank {}", rank), "its share of the documents",
                            error.empty() ? "that it ended before" : error,
                            "run again: with --out what was finished is found"));
}

class MpiExchange final : public PartExchange {
 public:
  explicit MpiExchange(std::stop_token stop) : stop_(std::move(stop)) {}
  ~MpiExchange() override {
    for (Sent& sent : sent_) MPI_Wait(&sent.request, MPI_STATUS_IGNORE);
  }

  void send(const PartKey& key, const Bytes& part) override {
    Sent& sent = sent_.emplace_back(Sent{message_of(key, part), MPI_REQUEST_NULL});
    MPI_Isend(sent.message.data(), static_cast<int>(sent.message.size()), MPI_BYTE, 0, kPartTag,
              MPI_COMM_WORLD, &sent.request);
    int done = 1;
    while (!sent_.empty() && done != 0) {
      MPI_Test(&sent_.front().request, &done, MPI_STATUS_IGNORE);
      if (done != 0) sent_.pop_front();
    }
  }

  std::pair<PartKey, Bytes> receive(int from) override {
    while (!ended_ranks().contains(from)) {
      if (stop_.stop_requested()) throw InterruptedError("interrupted while ranks were working");
      const std::optional<Arrival> arrived = arrival(from);
      if (!arrived) {
        pause();
        continue;
      }
      ByteReader message(arrived->bytes);
      if (arrived->is_end) fail_by(from, message.take_text());
      PartKey key{message.take_text(), message.take<int>(), 0};
      key.document = message.take<Index>();
      const auto part = message.rest();
      return {std::move(key), Bytes(part.begin(), part.end())};
    }
    fail_by(from, "");
  }

 private:
  struct Sent {
    Bytes message;
    MPI_Request request;
  };

  std::stop_token stop_;
  std::deque<Sent> sent_;
};

// Waits for what all ranks take part in. Where one of them has ended, the first says so, and the
// others wait until it ends them.
void wait_for_all(MPI_Request request, bool is_first) {
  for (int done = 0; done == 0;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done != 0) return;
    MPI_Status status;
    int ended = 0;
    if (is_first) MPI_Iprobe(MPI_ANY_SOURCE, kEndTag, MPI_COMM_WORLD, &ended, &status);
    if (ended != 0)
      fail_by(status.MPI_SOURCE, ByteReader(arrival(status.MPI_SOURCE)->bytes).take_text());
    pause();
  }
}

class MpiRanks final : public Ranks {
 public:
  MpiRanks() {
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &share_.index);
    MPI_Comm_size(MPI_COMM_WORLD, &share_.count);
  }
  ~MpiRanks() override {
    end("");
    MPI_Finalize();
  }

  Share share() const override { return share_; }
  std::unique_ptr<PartExchange> exchange(std::stop_token stop) override {
    return std::make_unique<MpiExchange>(std::move(stop));
  }

  void gather(Bytes own, const Visit& visit) override {
    std::vector<std::uint64_t> sizes(static_cast<std::size_t>(share_.count));
    const std::uint64_t size = own.size();
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallgather(&size, 1, MPI_UINT64_T, sizes.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD, &request);
    wait_for_all(request, is_first());
    for (int rank = 0; rank < share_.count; ++rank) {
      Bytes bytes =
          rank == share_.index ? std::move(own) : Bytes(sizes[static_cast<std::size_t>(rank)]);
      // MPI counts in int.
      for (std::size_t at = 0; at < bytes.size(); at += kMostAtOnce) {
        const std::size_t some = std::min(kMostAtOnce, bytes.size() - at);
        MPI_Ibcast(bytes.data() + at, static_cast<int>(some), MPI_BYTE, rank, MPI_COMM_WORLD,
                   &request);
        wait_for_all(request, is_first());
      }
      visit(rank, bytes);
    }
  }

  void end(const std::string& error) noexcept override {
    if (std::exchange(ended_, true)) return;
    is_first() ? wait_for_others(error.empty()) : tell_first(error);
  }

 private:
  static void tell_first(const std::string& error) {
    ByteWriter text;
    text.put_text(error);
    const Bytes message = text.take();
    MPI_Send(message.data(), static_cast<int>(message.size()), MPI_BYTE, 0, kEndTag,
             MPI_COMM_WORLD);
  }

  void wait_for_others(bool patiently) const {
    constexpr auto kPatience = std::chrono::seconds(5);
    const auto begin = std::chrono::steady_clock::now();
    for (int rank = 1; rank < share_.count; ++rank) {
      while (!ended_ranks().contains(rank)) {
        if (!arrival(rank)) pause();
        if (patiently || std::chrono::steady_clock::now() - begin < kPatience) continue;
        MPI_Abort(MPI_COMM_WORLD, static_cast<int>(ErrorKind::resource));
      }
    }
  }

  Share share_;
  bool ended_ = false;
};

#endif

}  // namespace

std::unique_ptr<Ranks> join_ranks() {
  if (started_together() <= 1) return nullptr;
#ifdef HEADGAUGE_MPI
  return std::make_unique<MpiRanks>();
#else
  throw UnsupportedError(fault("mpirun", "a headgauge that was built with MPI",
                               "one that was built without",
                               "install libopenmpi-dev and build again, or use --shard"));
#endif
}

}  // namespace headgauge::cli
