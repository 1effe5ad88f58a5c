// A collective over vectors of float32, as an engine is called.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "engine/binding.hpp"
#include "schedule/registry.hpp"

namespace stretto::tests {

// `in` and `out` may be one vector. Segments of 4096 bytes, within 1e-3.
inline engine::Work call_of(engine::Engine& engine, schedule::Collective collective, const char* algorithm,
                            payload::Kind kind, const std::vector<float>& in, std::vector<float>& out, int split = 0) {
  schedule::Request request;
  request.collective = collective;
  request.ranks = engine.carrier().size();
  request.rank = engine.carrier().rank();
  request.split = split;
  engine::Work call;
  call.schedule = std::make_shared<schedule::Schedule>(schedule::find(collective, algorithm)->build(request));
  call.payload.kind = kind;
  call.payload.eps = 1e-3;
  call.options.segment_bytes = 4096;
  engine::Arguments arguments;
  arguments.in = in.data();
  arguments.out = out.data();
  arguments.count = out.size();
  EXPECT_EQ(engine::bind(*call.schedule, payload::Type::f32, arguments, &call.blocks), Status::ok) << message();
  return call;
}

inline std::vector<float> numbers(std::size_t n) {
  std::vector<float> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = std::sin(static_cast<float>(i));
  return v;
}

}  // namespace stretto::tests
