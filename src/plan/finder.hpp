// What finds plans on the search documents, by either way of searching.
#pragma once

#include <string>
#include <vector>

#include "plan/made.hpp"
#include "plan/search.hpp"

namespace headgauge {

// A candidate plan, and the start it was found from.
struct FoundPlan {
  PerHead<HeadPlan> plan;
  std::string start;
};

class Finder {
 public:
  virtual ~Finder() = default;
  // Measures what plans are found from whose shares of the cache lie between these.
  virtual void prepare(double least, double most) = 0;
  // Returns plans of at most the share.
  virtual std::vector<FoundPlan> within(double share) = 0;
  // Returns the plan of the lowest cost among those of at most the share that give all heads of a
  // layer the same choice; null if none was measured.
  virtual const SearchPoint* by_layer(double share) const = 0;
  // Returns all plans measured on the way, of any share.
  virtual std::vector<SearchPoint> all() const = 0;
  // Returns the number of steps that within() reports.
  virtual double steps_of_share() const = 0;
  // Returns what was measured of single heads; no changes if nothing was.
  virtual Screening screening() const { return {}; }
};

// Returns the point with the lowest cost that fits into the share; null if none does.
const SearchPoint* best_within(const std::vector<SearchPoint>& points, double share);

}  // namespace headgauge
