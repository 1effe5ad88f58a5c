// What the two files of the worker share.
#pragma once

#include <chrono>
#include <cstddef>

#include "payload/worker.hpp"

namespace stretto::payload {

// Adds the time from its making to its end to `total`.
class Stopwatch {
 public:
  explicit Stopwatch(double& total) noexcept : total_(total), begin_(std::chrono::steady_clock::now()) {}
  ~Stopwatch() { total_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& total_;
  std::chrono::steady_clock::time_point begin_;
};

inline void set_raw(Value& value, const std::byte* raw, bool fixed) noexcept {
  value.raw = raw;
  value.raw_store = Buffer{};
  value.raw_fixed = fixed;
  value.settled = false;
  value.absent = false;
}

inline codec::MutableBytes room(const Buffer& buffer) noexcept { return {buffer.data(), buffer.capacity()}; }

}  // namespace stretto::payload
