#pragma once

#include "call/call.hpp"
#include "engine/engine.hpp"
#include "select/decision.hpp"
#include "stretto/stretto.h"

namespace stretto::api {

inline constexpr const char* agreement_name = "agreement";

struct Outcome {
  const char* algorithm = "";
  call::Collective collective{};
  stretto_payload payload = STRETTO_PAYLOAD_RAW;
  std::uint64_t contributions = 1;
  const engine::Report* ran = nullptr;
  bool bytes_known = false;
  double eps = 0, error = 0, expected_ratio = 1;
  double rounding = 0;  // beyond `error`, of additions and of the result; infinite: not known
  std::uint64_t raw_below = 0;
  stretto_coding coding = STRETTO_CODING_AUTO;
  int split = 0;
  select::Rationale why;
  const char* profile = "";
  const codec::Ranges* ranges = nullptr;
  double agree_seconds = 0, seconds = 0;
  const char* device_carrier = "";
};

inline bool has_rounding(const stretto_report& out) noexcept {
  return out.size >= offsetof(stretto_report, error_with_rounding) + sizeof out.error_with_rounding;
}

// The error with all rounding takes a pass over the result.
inline bool asks_for_rounding(const stretto_report& out) noexcept {
  return has_rounding(out) && !(out.error_with_rounding < 0);
}

// Fills as much of *out as its size says; null: nothing.
void report(const Outcome& outcome, stretto_report* out) noexcept;

}  // namespace stretto::api
