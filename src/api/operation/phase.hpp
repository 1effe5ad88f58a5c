// An operation is a row of phases: agreement, then movement. They share the call's state, and each of their steps says
// what follows.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>

#include "api/communicator.hpp"
#include "base/status.hpp"
#include "call/call.hpp"
#include "engine/engine.hpp"
#include "select/decision.hpp"

namespace stretto::api {

struct CallState {
  explicit CallState(stretto_comm_s& c) noexcept : comm(c) {}

  using Clock = std::chrono::steady_clock;
  double seconds() const noexcept { return std::chrono::duration<double>(Clock::now() - begun).count(); }

  // After a refusal that every rank got, before anything moves. True: the call runs without what was refused, because
  // the caller cannot start another.
  bool goes_exact(Status refusal) noexcept;

  stretto_comm_s& comm;
  Call call;
  select::Decision decision;
  Clock::time_point begun{};
  double agree_seconds = 0;
  bool exact = false;
  bool moved = false;  // data; false: an agreement was all
  engine::Report ran;
  // If the call is lost, other ranks end their waits from these runs of comm.agreement and comm.data on.
  std::uint64_t agreement_run = engine::Engine::kNext, data_run = engine::Engine::kNext;
  std::array<char, 512> message{};  // of the failure in the arguments, then of the call's
};

struct Step {
  enum class Next : std::uint8_t {
    wait,  // the phase has not ended
    move,  // the ranks agree, or need not
    end,   // every rank gets the status
    lose   // as end, but other ranks would wait for this one
  };
  static constexpr Step move() noexcept { return {Next::move}; }
  static constexpr Step end(Status s) noexcept { return {Next::end, s}; }
  static constexpr Step lose(Status s) noexcept { return {Next::lose, s}; }

  Next next = Next::wait;
  Status status = Status::ok;  // with this thread's message
};

}  // namespace stretto::api
