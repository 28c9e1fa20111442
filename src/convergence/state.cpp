#include "convergence/state.hpp"

#include <fmt/format.h>

#include <cmath>

namespace headgauge {
namespace {

constexpr const char* kReferences = "references";

std::string stage_of(std::size_t scale) {
  return fmt::format("scale {}", scale);
}

// Reads the norm of a difference, or the unit of such norms.
double take_norm(ByteReader& part) {
  const auto norm = part.take<double>();
  if (!std::isfinite(norm) || norm < 0) throw DamagedPartError("a norm", "another number");
  return norm;
}

std::vector<double> take_norms(ByteReader& part, int replicates) {
  std::vector<double> norms;
  for (int replicate = 0; replicate < replicates; ++replicate) norms.push_back(take_norm(part));
  return norms;
}

ScaleReference read_reference(const Bytes& bytes) {
  ByteReader part(bytes);
  ScaleReference reference;
  reference.mean_unit = take_norm(part);
  reference.covariance_unit = take_norm(part);
  reference.mean_error = take_norm(part);
  reference.covariance_error = take_norm(part);
  reference.method = part.take_text();
  part.require_end();
  return reference;
}

CellErrors read_cell(const Bytes& bytes, int replicates) {
  ByteReader part(bytes);
  CellErrors errors;
  errors.mean = take_norms(part, replicates);
  errors.covariance = take_norms(part, replicates);
  part.require_end();
  return errors;
}

}  // namespace

SweepState find_sweep(Journal& journal, std::size_t scales, std::size_t points, int replicates) {
  SweepState state;
  state.references.resize(scales);
  state.cells.assign(scales, std::vector<std::optional<CellErrors>>(points));
  for (std::size_t scale = 0; scale < scales; ++scale) {
    {
      const Journal::Stage stage(journal, kReferences);
      const auto part = journal.find(-1, static_cast<Index>(scale));
      if (part) state.references[scale] = read_reference(*part);
    }
    const Journal::Stage stage(journal, stage_of(scale));
    for (std::size_t point = 0; point < points; ++point) {
      const auto part = journal.find(-1, static_cast<Index>(point));
      if (part) state.cells[scale][point] = read_cell(*part, replicates);
    }
  }
  return state;
}

void keep_reference(Journal& journal, std::size_t scale, const ScaleReference& reference) {
  ByteWriter part;
  for (const double norm : {reference.mean_unit, reference.covariance_unit, reference.mean_error,
                            reference.covariance_error}) {
    part.put(norm);
  }
  part.put_text(reference.method);
  const Journal::Stage stage(journal, kReferences);
  journal.keep(-1, static_cast<Index>(scale), part.take());
}

void keep_cell(Journal& journal, std::size_t scale, std::size_t point, const CellErrors& errors) {
  ByteWriter part;
  part.put_all(std::span<const double>(errors.mean));
  part.put_all(std::span<const double>(errors.covariance));
  const Journal::Stage stage(journal, stage_of(scale));
  journal.keep(-1, static_cast<Index>(point), part.take());
}

}  // namespace headgauge
