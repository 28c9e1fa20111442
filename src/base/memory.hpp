// Refuses work that does not fit in memory.
#pragma once

#include <cstddef>
#include <string>

#include "headgauge/memory.hpp"

namespace headgauge {

// Throws ResourceError with both figures if `needed` bytes do not fit; `what` names the work.
void require_memory(std::size_t needed, const std::string& what, const std::string& advice);

// Called by the Rust libraries: calls the handler of headgauge/faults.hpp. Returns if there is
// none; the process is then aborted.
void out_of_memory(const char* what, std::size_t bytes) noexcept;

}  // namespace headgauge
