// Refuses work that does not fit in memory.
#pragma once

#include <cstddef>
#include <string>

#include "headgauge/memory.hpp"

namespace headgauge {

// Throws ResourceError with both figures if `needed` bytes do not fit; `what` names the work.
void require_memory(std::size_t needed, const std::string& what, const std::string& advice);

// For libraries in Rust: calls the handler of headgauge/faults.hpp; returns where there is none,
// and the process is aborted then.
void out_of_memory(const char* what, std::size_t bytes) noexcept;

}  // namespace headgauge
