// Ends a document as a scan does.
#pragma once

#include <stdexcept>

#include "headgauge/bytes.hpp"
#include "headgauge/measure.hpp"
#include "headgauge/parallel.hpp"

namespace headgauge {

// The measure writes what it keeps of the document, and reads it.
inline void pass_part(Measure& measure, int document, ThreadPool& pool) {
  ByteWriter part;
  measure.write_part(document, pool, part);
  const Bytes bytes = part.take();
  ByteReader reader(bytes);
  measure.read_part(document, reader);
  if (!reader.at_end()) throw std::logic_error("read_part() left something");
}

}  // namespace headgauge
