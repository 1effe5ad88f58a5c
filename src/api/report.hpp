#pragma once

#include "call/call.hpp"
#include "engine/engine.hpp"
#include "select/decision.hpp"
#include "stretto/stretto.h"

struct stretto_comm_s;

namespace stretto::api {

struct EndedCall {
  stretto_comm_s& comm;
  call::Shape shape;
  const stretto_options& options;
  const select::Decision& decision;
  bool moved = true;                      // false: an agreement was all
  const engine::Report* ran = nullptr;    // null: the backend counts no bytes
  const void* result = nullptr;           // null: the host cannot read it
  const codec::Ranges* ranges = nullptr;  // of all ranks' values, where the decision needs them
  const char* device_carrier = "";
  double agree_seconds = 0, seconds = 0;
};

inline bool has_rounding(const stretto_report& out) noexcept {
  return out.size >= offsetof(stretto_report, error_with_rounding) + sizeof out.error_with_rounding;
}

// The error with all rounding takes a pass over the result.
inline bool asks_for_rounding(const stretto_report& out) noexcept {
  return has_rounding(out) && !(out.error_with_rounding < 0);
}

// Fills as much of options.report as its size says.
void report(const EndedCall& call) noexcept;

}  // namespace stretto::api
