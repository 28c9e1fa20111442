// How much memory this process may still take.
#pragma once

#include <cstddef>
#include <string>

namespace headgauge {

// Bytes available: the least of what the system, the control groups (version 1 or 2; file pages
// that they can drop count as free) and the address-space limit of the process allow; the largest
// value where nothing is known. `root` is the folder that /proc and /sys are in.
std::size_t available_memory(const std::string& root = "");

// "1.4 GB", "300 MB" ...
std::string format_bytes(std::size_t bytes);

}  // namespace headgauge
