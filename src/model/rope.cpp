#include "model/rope.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <utility>

namespace headgauge {
namespace {

// Limits far beyond any model that still give distinct, finite rotations.
constexpr double kLeastFactor = 1e-3, kLargestFactor = 1e6;
constexpr double kLeastTheta = 2, kLargestTheta = 1e30;

double factor_or(const ConfigReader& config, std::string_view key, double otherwise) {
  return config.get_number(key, otherwise, kLeastFactor, kLargestFactor);
}
double get_factor(const ConfigReader& config, std::string_view key) {
  static_cast<void>(config.get<double>(key));  // throws if the field is missing
  return factor_or(config, key, 1);
}

// Returns YaRN's mscale (Peng et al. 2023, eq. 22), by which the square root of the logits grows
// with the context.
double magnitude(double factor, double by) {
  return factor <= 1 ? 1.0 : 0.1 * by * std::log(factor) + 1.0;
}

}  // namespace

Rope::Rope(const ConfigReader& config, Index head_dim, Index trained, const Fields& fields)
    : dimension_(head_dim), trained_(trained), original_(trained) {
  refuse_if(head_dim % 2 != 0, config.where("head_dim"), "an even number, for positions turn pairs",
            std::to_string(head_dim), "correct the config");
  // transformers 5 replaces rope_scaling by rope_parameters, which also holds rope_theta.
  const auto given = [&](const char* key) {
    return config.has(key) && !config.json().at(key).empty();
  };
  refuse_if(fields.layer_type != nullptr && given("rope_scaling") && given("rope_parameters"),
            config.where("rope_scaling"), "none beside rope_parameters", "both",
            "remove one of the two");
  const bool nested = !given("rope_scaling") && given("rope_parameters");
  const char* const key = nested ? "rope_parameters" : "rope_scaling";
  const bool scales = nested || (given(key) && fields.scales);
  ConfigReader scaling = scales ? config.child(key) : config;
  if (nested && fields.layer_type != nullptr) scaling = scaling.child(fields.layer_type);
  const auto theta = [&](const ConfigReader& reader, const char* field) {
    return reader.get_number(field, fields.otherwise, kLeastTheta, kLargestTheta);
  };
  const double outside = theta(config, fields.theta);
  theta_ = scaling.has("rope_theta") && scales ? theta(scaling, "rope_theta") : outside;
  if (theta_ != outside) followed_ = "rope_theta within rope_scaling";
  refuse_if(!followed_.empty() && config.has(fields.theta), scaling.where("rope_theta"),
            fmt::format("{}, as outside", outside), fmt::format("{}", theta_),
            "correct the config");

  if (scales) read_kind(scaling);
  // These families rotate whole heads; Hugging Face fails on anything else.
  for (const ConfigReader& reader : {config, scaling}) {
    if (reader.get_or("partial_rotary_factor", 1.0) != 1.0) {
      throw UnsupportedError(fault(reader.where("partial_rotary_factor"),
                                   "1, as these families have it",
                                   fmt::format("{}", reader.get<double>("partial_rotary_factor")),
                                   "headgauge cannot run this model"));
    }
  }
  short_ = plain(theta_);
  read_scaling(config, scaling);
  // transformers 4 does not know rope_parameters. A config that transformers 5 wrote leaves no
  // doubt.
  const auto version = config.json().value("transformers_version", nlohmann::json());
  const bool written = version.is_string() && version.get<std::string>() >= "5";
  if (nested) followed_ = !written && (kind_ != Kind::standard || !followed_.empty()) ? key : "";
}

void Rope::read_kind(const ConfigReader& scaling) {
  const char* const field = read_name(scaling);
  static constexpr std::array<std::pair<const char*, Kind>, 6> kinds{{
      {"default", Kind::standard},
      {"linear", Kind::linear},
      {"dynamic", Kind::dynamic},
      {"yarn", Kind::yarn},
      {"longrope", Kind::longrope},
      {"llama3", Kind::llama3},
  }};
  const auto known =
      std::ranges::find_if(kinds, [&](const auto& kind) { return name_ == kind.first; });
  refuse_if<UnsupportedError>(known == kinds.end(), scaling.where(field),
                              "default, linear, dynamic, yarn, longrope or llama3",
                              "\"" + name_ + "\"", "headgauge cannot run this RoPE scaling");
  kind_ = known->second;
}

void Rope::read_scaling(const ConfigReader& config, const ConfigReader& scaling) {
  read_original(config, scaling);
  switch (kind_) {
    case Kind::standard:
      break;
    case Kind::linear:
      factor_ = get_factor(scaling, "factor");
      for (double& f : short_) f /= factor_;
      break;
    case Kind::dynamic:
      factor_ = get_factor(scaling, "factor");
      refuse_if<UnsupportedError>(dimension_ == 2, config.where("head_dim"),
                                  "more than 2 with dynamic RoPE scaling, whose base is raised "
                                  "to head_dim / (head_dim - 2)",
                                  "2", "headgauge cannot run this model");
      break;
    case Kind::yarn:
      read_yarn(scaling);
      break;
    case Kind::longrope:
      read_longrope(config, scaling);
      break;
    case Kind::llama3:
      read_llama3(scaling);
      break;
  }
}

const char* Rope::read_name(const ConfigReader& scaling) {
  for (const auto& [layer_type, value] : scaling.json().items()) {
    if (!value.is_object()) continue;
    throw UnsupportedError(fault(scaling.where(layer_type), "the same positions in all layers",
                                 "its own RoPE for a type of layers",
                                 "headgauge cannot run this model"));
  }
  const char* const field = scaling.has("rope_type") ? "rope_type" : "type";
  name_ = scaling.has("factor") ? scaling.get<std::string>(field)
                                : scaling.get_or<std::string>(field, "default");
  // An older name of the field, which transformers 4 prefers and transformers 5 ignores.
  if (scaling.get_or<std::string>("type", name_) != name_) {
    throw BadInputError(fault(scaling.where("type"), "\"" + name_ + "\", as rope_type says",
                              "\"" + scaling.get<std::string>("type") + "\"",
                              "correct the config"));
  }
  return field;
}

std::vector<double> Rope::plain(double theta) const {
  std::vector<double> frequencies;
  for (Index i = 0; i < dimension_; i += 2) {
    frequencies.push_back(
        std::pow(theta, -static_cast<double>(i) / static_cast<double>(dimension_)));
  }
  return frequencies;
}

void Rope::read_original(const ConfigReader& config, const ConfigReader& scaling) {
  constexpr const char* kOriginal = "original_max_position_embeddings";
  if (kind_ != Kind::yarn && kind_ != Kind::longrope && kind_ != Kind::llama3) return;
  const auto of = [&](const ConfigReader& reader) {
    return reader.has(kOriginal) ? reader.get_size(kOriginal) : trained_;
  };
  original_ = of(config.has(kOriginal) ? config : scaling);
  // transformers 4 reads one of the two.
  if (original_ != of(kind_ == Kind::longrope ? config : scaling)) followed_ = kOriginal;
}

// Peng et al. 2023: pairs that rotate often keep their frequency. Pairs that rotate less than once
// in the original context are slowed by the factor. Pairs between are interpolated.
void Rope::read_yarn(const ConfigReader& scaling) {
  factor_ =
      factor_or(scaling, "factor", static_cast<double>(trained_) / static_cast<double>(original_));
  const double mscale = scaling.get_or("mscale", 0.0);
  const double mscale_all = scaling.get_or("mscale_all_dim", 0.0);
  attention_factor_ = mscale != 0 && mscale_all != 0
                          ? magnitude(factor_, mscale) / magnitude(factor_, mscale_all)
                          : magnitude(factor_, 1.0);
  refuse_if(!(attention_factor_ >= kLeastFactor && attention_factor_ <= kLargestFactor),
            scaling.where("mscale"),
            fmt::format("one that scales vectors by {} to {}", kLeastFactor, kLargestFactor),
            fmt::format("{}, which scales them by {:.6g}", mscale, attention_factor_),
            "use the config.json that the model came with");
  attention_factor_ = factor_or(scaling, "attention_factor", attention_factor_);
  const auto dimension = static_cast<double>(dimension_);
  // Returns the pair that rotates `times` times in the original context.
  const auto pair_of = [&](double times) {
    return dimension * std::log(static_cast<double>(original_) / (times * 2 * std::numbers::pi)) /
           (2 * std::log(theta_));
  };
  double low = pair_of(factor_or(scaling, "beta_fast", 32.0));
  double high = pair_of(factor_or(scaling, "beta_slow", 1.0));
  if (scaling.get_or("truncate", true)) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, dimension - 1);
  if (low == high) high += 0.001;
  for (std::size_t i = 0; i < short_.size(); ++i) {
    const double slowed = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    short_[i] *= slowed / factor_ + (1 - slowed);
  }
}

// Ding et al. 2024: a factor for each pair, with one list for short passes and one for long ones.
void Rope::read_longrope(const ConfigReader& config, const ConfigReader& scaling) {
  const double ratio = static_cast<double>(trained_) / static_cast<double>(original_);
  factor_ = factor_or(scaling, "factor", ratio);
  // transformers 4 takes the ratio then.
  if (factor_ != ratio && config.has("original_max_position_embeddings")) followed_ = "factor";
  attention_factor_ =
      factor_ <= 1 ? 1.0
                   : std::sqrt(1 + std::log(factor_) / std::log(static_cast<double>(original_)));
  attention_factor_ = factor_or(scaling, "attention_factor", attention_factor_);
  const auto divided = [&](const char* key) {
    std::vector<double> frequencies = plain(theta_);
    const auto factors = scaling.get<std::vector<double>>(key);
    refuse_if(factors.size() != frequencies.size(), scaling.where(key),
              fmt::format("{} numbers, half of head_dim", frequencies.size()),
              std::to_string(factors.size()), "correct the config");
    for (std::size_t i = 0; i < factors.size(); ++i) {
      refuse_if(!(factors[i] >= kLeastFactor && factors[i] <= kLargestFactor), scaling.where(key),
                fmt::format("positive numbers from {} to {}", kLeastFactor, kLargestFactor),
                fmt::format("{}", factors[i]), "correct the config");
      frequencies[i] /= factors[i];
    }
    return frequencies;
  };
  short_ = divided("short_factor");
  long_ = divided("long_factor");
}

// Llama 3.1: like YaRN, but based on the wavelength relative to the original context, and linear in
// 1/wavelength.
void Rope::read_llama3(const ConfigReader& scaling) {
  factor_ = get_factor(scaling, "factor");
  const double low = get_factor(scaling, "low_freq_factor");
  const double high = get_factor(scaling, "high_freq_factor");
  refuse_if(!(high > low), scaling.where("high_freq_factor"),
            fmt::format("more than low_freq_factor = {}", low), fmt::format("{}", high),
            "correct the config");
  for (double& f : short_) {
    const double turns = static_cast<double>(original_) * f / (2 * std::numbers::pi);
    if (turns > high) continue;
    const double kept = turns < low ? 0.0 : (turns - low) / (high - low);
    f *= (1 - kept) / factor_ + kept;
  }
}

bool Rope::is_long(Index length) const {
  if (kind_ == Kind::dynamic) return length > trained_;
  return kind_ == Kind::longrope && length > original_;
}

std::vector<double> Rope::frequencies(Index length) const {
  if (!is_long(length)) return short_;
  if (kind_ == Kind::longrope) return long_;
  const double ratio = static_cast<double>(length) / static_cast<double>(trained_);
  const auto dimension = static_cast<double>(dimension_);
  return plain(theta_ * std::pow(factor_ * ratio - (factor_ - 1), dimension / (dimension - 2)));
}

std::string Rope::text() const {
  std::string text = fmt::format("theta {}", theta_);
  if (kind_ == Kind::standard) return text;
  text += fmt::format(", {} scaling by {:.6g}", name_, factor_);
  if (original_ != trained_) text += fmt::format(" from {} positions", original_);
  if (attention_factor_ != 1) text += fmt::format(", vectors times {:.6g}", attention_factor_);
  return text;
}

std::string Rope::notice(Index length) const {
  if (!is_long(length)) return "";
  return fmt::format(
      "{} RoPE scaling takes other frequencies for texts of more than {} tokens: the numbers of "
      "all lengths come from one pass with those of {} tokens",
      name_, kind_ == Kind::dynamic ? trained_ : original_, length);
}

void RotaryTable::prepare(const Rope& rope, Index length) {
  std::vector<double> frequencies = rope.frequencies(length);
  if (frequencies == frequencies_ && cosines_.rows() >= length) return;
  frequencies_ = std::move(frequencies);
  const auto pairs = std::ssize(frequencies_);
  cosines_ = Matrix<float>(length, pairs);
  sines_ = Matrix<float>(length, pairs);
  for (Index p = 0; p < length; ++p) {
    for (Index i = 0; i < pairs; ++i) {
      const double angle = static_cast<double>(p) * frequencies_[i];
      cosines_(p, i) = static_cast<float>(std::cos(angle) * rope.attention_factor());
      sines_(p, i) = static_cast<float>(std::sin(angle) * rope.attention_factor());
    }
  }
}

void RotaryTable::rotate(std::span<const float> in, Index position, std::span<float> out) const {
  const auto cosine = cosines_.row(position), sine = sines_.row(position);
  const std::size_t half = cosine.size();
  for (std::size_t i = 0; i < half; ++i) {
    const float a = in[i], b = in[i + half];
    out[i] = a * cosine[i] - b * sine[i];
    out[i + half] = b * cosine[i] + a * sine[i];
  }
}

void RotaryTable::reverse(Index position, std::span<float> gradient) const {
  const auto cosine = cosines_.row(position), sine = sines_.row(position);
  const std::size_t half = cosine.size();
  for (std::size_t i = 0; i < half; ++i) {
    const float a = gradient[i], b = gradient[i + half];
    gradient[i] = a * cosine[i] + b * sine[i];
    gradient[i + half] = b * cosine[i] - a * sine[i];
  }
}

}  // namespace headgauge
