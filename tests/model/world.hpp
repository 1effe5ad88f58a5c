// Machines made up for tests: uniform links, costs that are easy to tell apart.
#pragma once

#include "model/walk/clock.hpp"
#include "schedule/names.hpp"

#include <gtest/gtest.h>

namespace stretto::model {

// Every link alike; nothing but messages costs anything.
inline Machine uniform(double alpha, double beta) {
  Machine m;
  for (Link& l : m.links) l = {Span{0, alpha, beta, 0}};
  m.nics = 0;
  return m;
}

inline Programs programs_of(schedule::Collective collective, std::string_view algorithm,
                            const topology::Topology& where, Folding folding = {.allowed = false}, int blocks = 0) {
  Programs programs;
  const schedule::Algorithm* a = schedule::find(collective, algorithm);
  EXPECT_NE(a, nullptr) << algorithm;
  schedule::Request request;
  request.collective = collective;
  request.ranks = where.ranks();
  request.blocks = blocks;
  EXPECT_EQ(make_programs(*a, request, where, folding, &programs), Status::ok) << message();
  return programs;
}

}  // namespace stretto::model
