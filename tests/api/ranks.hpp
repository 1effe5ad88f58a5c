// Ranks as threads for tests of the C API: each gets a communicator of one group, runs the body and frees it.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "stretto/stretto.h"

// Ends the rank's body when a call fails; an assertion that returns can be no function.
#define ASSERT_STRETTO_OK(call) ASSERT_EQ((call), STRETTO_OK) << stretto_message()

namespace api_test {

inline constexpr int kRankCounts[] = {1, 2, 3, 5, 7};

template <class Body>
void on_ranks(int ranks, const Body& body) {
  stretto_thread_group group = nullptr;
  ASSERT_EQ(stretto_thread_group_create(ranks, &group), STRETTO_OK) << stretto_message();
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r)
    threads.emplace_back([&, r] {
      stretto_comm comm = nullptr;
      ASSERT_EQ(stretto_comm_create_threads(group, r, &comm), STRETTO_OK) << stretto_message();
      EXPECT_EQ(stretto_comm_rank(comm), r);
      EXPECT_EQ(stretto_comm_size(comm), ranks);
      body(comm, r, ranks);
      EXPECT_EQ(stretto_comm_free(comm), STRETTO_OK) << stretto_message();
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(stretto_thread_group_free(group), STRETTO_OK);
}

// Runs the body on 1, 2, 3, 5 and 7 ranks.
template <class Body>
void on_all_ranks(const Body& body) {
  for (int ranks : kRankCounts) {
    SCOPED_TRACE(testing::Message() << ranks << " ranks");
    on_ranks(ranks, body);
  }
}

// A small exact value for element i of rank r: sums over ranks stay exact in every type.
inline int sample(int rank, std::size_t i) {
  return static_cast<int>((static_cast<std::size_t>(rank) * 7 + i * 3) % 11);
}

template <class T>
std::vector<T> samples(int rank, std::size_t count) {
  std::vector<T> v(count);
  for (std::size_t i = 0; i < count; ++i) v[i] = static_cast<T>(sample(rank, i));
  return v;
}

// A smooth wave that differs between ranks, with some noise in its low digits.
inline std::vector<float> wave(int rank, std::size_t count) {
  std::vector<float> v(count);
  std::uint32_t state = 0x9e3779b9u * static_cast<std::uint32_t>(rank + 1);
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    v[i] = static_cast<float>(std::sin(0.001 * static_cast<double>(i) + rank) + 1e-3 * (state >> 8) / 16777216.0);
  }
  return v;
}

inline stretto_options defaults() {
  const stretto_options o = STRETTO_OPTIONS_INIT;
  return o;
}

inline stretto_options bounded(double bound, stretto_bound kind = STRETTO_BOUND_ABSOLUTE,
                               stretto_scope scope = STRETTO_SCOPE_CONTRIBUTION) {
  stretto_options o = defaults();
  o.bound_kind = kind;
  o.bound = bound;
  o.scope = scope;
  return o;
}

// Half a unit in the last place of a float of this size: the allowance for rounding the result.
inline double half_ulp(float y) {
  const float a = std::fabs(y);
  return 0.5 * (static_cast<double>(std::nextafterf(a, INFINITY)) - static_cast<double>(a));
}

}  // namespace api_test
