// The memory that this process may still allocate.
#pragma once

#include <cstddef>
#include <string>

namespace headgauge {

// Returns the available bytes: the minimum of what the system, the control groups (version 1 or 2;
// file pages that can be dropped count as free) and the address-space limit of the process allow.
// Returns the largest value if nothing is known. `root` is the folder that contains /proc and /sys.
std::size_t available_memory(const std::string& root = "");

// Formats a number of bytes: "1.4 GB", "300 MB".
std::string format_bytes(std::size_t bytes);

}  // namespace headgauge
