// Shared by tests of the choice: a machine with distinct costs, questions about it, and answers.
#pragma once

#include <gtest/gtest.h>

#include "model/choose.hpp"

namespace stretto::model {

using payload::Kind;
using schedule::Collective;

// A network of 1 GB/s and 10 us, a codec of 10 GB/s, sums of 5 GB/s.
inline Profile profile() {
  Profile p;
  p.name = "test";
  p.cores = 8;
  p.links[static_cast<std::size_t>(topology::Distance::cache)] = {{0, 5e-7, 1e-10, 0}};
  p.links[static_cast<std::size_t>(topology::Distance::network)] = {{0, 1e-5, 1e-9, 0}};
  p.gamma = 2e-10;
  p.copy = 1e-10;
  p.step = 5e-7;
  p.f32 = {{1, 1e-6, 1e-10, 1e-10, 1e-10, 1.5e-10}, {64, 1e-6, 1e-10, 1e-10, 1e-10, 1.5e-10}};
  return p;
}

inline Question allreduce(std::uint64_t bytes, double ratio = 0) {
  Question q;
  q.collective = Collective::allreduce;
  q.bytes = bytes;
  q.compress = ratio > 0;
  q.ratio = ratio > 0 ? ratio : 1;
  return q;
}

inline Candidate best(Chooser& chooser, const Question& q) {
  Candidate c;
  EXPECT_EQ(chooser.choose(q, &c), Status::ok) << message();
  return c;
}

}  // namespace stretto::model
