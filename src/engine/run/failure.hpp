// A run's first failure, in reserved memory. Peers get its mark in place of messages from then on.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "engine/run/values.hpp"

namespace stretto::engine {

class Failure {
 public:
  Failure(const Plan& plan, const Values& values) noexcept : plan_(plan), values_(values) {}

  void clear() noexcept;

  bool any() const noexcept { return status_ != Status::ok; }
  Status status() const noexcept { return status_; }
  const char* text() const noexcept { return text_.data(); }

  // One byte, which outlives the run's transfers.
  const std::byte* mark() const noexcept { return &mark_; }

  // A transfer did not begin: others would wait in vain.
  bool stranded() const noexcept { return stranded_; }

  // With message(), unless one was recorded before.
  void record(Status status, const Unit* unit) noexcept;
  void strand(Status status, const Unit* unit) noexcept;

  // The run ends for a reason elsewhere.
  void end(Status status, const char* text) noexcept;

  // "allreduce ring (raw) of f32 by sum, rank 1".
  std::string what_runs() const;
  std::string where(const Unit& unit) const;

 private:
  void say(std::string_view text) noexcept;

  const Plan& plan_;
  const Values& values_;
  Status status_ = Status::ok;
  bool stranded_ = false;
  std::array<char, 512> text_{};
  std::byte mark_{};
};

}  // namespace stretto::engine
