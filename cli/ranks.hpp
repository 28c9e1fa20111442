// The processes that mpirun started together.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "headgauge/bytes.hpp"
#include "headgauge/journal.hpp"

namespace headgauge::cli {

class Ranks {
 public:
  virtual ~Ranks() = default;
  // Which of them this one is.
  virtual Share share() const = 0;
  bool is_first() const { return share().index == 0; }
  // What carries their parts; `stop` ends the first one's waiting with an InterruptedError.
  virtual std::unique_ptr<PartExchange> exchange(std::stop_token stop) = 0;
  // Visits what every rank gave, one after another in their order. All of them ask for it. Throws
  // ResourceError on the first rank where another one has ended.
  using Visit = std::function<void(int rank, const Bytes& given)>;
  virtual void gather(Bytes own, const Visit& visit) = 0;
  // Tells the first rank that this one ends, and why where that is an error; the first waits for
  // all others. Those that go on although the first had an error are ended.
  virtual void end(const std::string& error) noexcept = 0;
};

// Joins the others, of several that mpirun started; null for a process by itself. Throws
// UnsupportedError where headgauge was built without MPI. Of the program alone.
std::unique_ptr<Ranks> join_ranks();

// The ranks that the program joined; null in other programs.
Ranks* ranks();
void set_ranks(Ranks* ranks);

}  // namespace headgauge::cli
