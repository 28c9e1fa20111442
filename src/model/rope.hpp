// Rotary positions (Su et al. 2021) with the scalings of longer contexts, as Hugging Face's
// modeling_rope_utils (transformers 4.57) has them: position p turns the pair (x_i, x_{i + d/2}) by
// the angle p f_i.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "headgauge/base.hpp"
#include "headgauge/checkpoint.hpp"

namespace headgauge {

class Rope {
 public:
  // From rope_theta, rope_scaling and rope_parameters of a config.json whose heads are `head_dim`
  // wide and which was trained on `trained` positions. Throws UnsupportedError naming a scaling
  // that is none of default, linear, dynamic, yarn, longrope and llama3.
  Rope(const ConfigReader& config, Index head_dim, Index trained);

  // f_i, i < head_dim / 2, of a pass over `length` positions.
  std::vector<double> frequencies(Index length) const;
  // What the sines and cosines are multiplied with.
  double attention_factor() const { return attention_factor_; }
  // Such as "theta 500000, llama3 scaling by 8".
  std::string text() const;
  // What a reader must know of numbers that come from one pass over `length` positions; empty:
  // nothing.
  std::string notice(Index length) const;

 private:
  enum class Kind { standard, linear, dynamic, yarn, longrope, llama3 };
  // Reads name_; the field that it stands in.
  const char* read_name(const ConfigReader& scaling, bool nested);
  // Reads name_ and kind_.
  void read_kind(const ConfigReader& scaling, bool nested);
  // Reads what the scaling of that kind needs.
  void read_scaling(const ConfigReader& config, const ConfigReader& scaling, bool nested);
  // The frequencies without scaling.
  std::vector<double> plain(double theta) const;
  void read_yarn(const ConfigReader& scaling);
  void read_longrope(const ConfigReader& config, const ConfigReader& scaling, bool nested);
  void read_llama3(const ConfigReader& scaling);
  // Whether the pass takes other frequencies than a short one.
  bool is_long(Index length) const;

  Kind kind_ = Kind::standard;
  std::string name_ = "default";
  Index dimension_ = 0;
  double theta_ = 10000.0;
  double factor_ = 1.0;
  double attention_factor_ = 1.0;
  Index trained_ = 0;          // max_position_embeddings
  Index original_ = 0;         // trained on before the context was made longer
  std::vector<double> short_;  // f_i of passes over up to original_ positions
  std::vector<double> long_;   // longrope: of longer ones
};

// The sines and cosines of positions 0, 1, ..., kept from pass to pass.
class RotaryTable {
 public:
  // For a pass over `length` positions.
  void prepare(const Rope& rope, Index length);
  // out = in (of head_dim) turned by `position`; `out` may not be `in`.
  void rotate(std::span<const float> in, Index position, std::span<float> out) const;

 private:
  std::vector<double> frequencies_;
  Matrix<float> cosines_;  // positions x head_dim / 2
  Matrix<float> sines_;
};

}  // namespace headgauge
