// One collective, run on this rank and compared with what it must give. The same cases (case_list.hpp) run over threads and over MPI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/engine.hpp"
#include "payload/payload.hpp"
#include "schedule/registry.hpp"

namespace stretto::tests {

struct Case {
  const schedule::Algorithm* algorithm = nullptr;
  payload::Kind kind = payload::Kind::raw;
  payload::Type type = payload::Type::f32;  // f32 or f64
  payload::Op op = payload::Op::sum;
  std::size_t count = 0;  // elements of the vector, all blocks together
  int root = 0;
  int blocks = 0;
  int hosts = 0;  // schedule::Groups of: > 0, so many ranks in a row; < 0, ranks dealt out to so many hosts; 0, none
  bool in_place = false;
  std::size_t segment_bytes = 8192;
  std::size_t grain = 1024;
  double eps = 1e-3;
  std::size_t raw_below = 0;                 // payload::Spec
  const schedule::Groups* groups = nullptr;  // ranks of a node; links between them are raw
};

std::string describe(const Case& c, int ranks);

// Element i of what rank r contributes; between -1 and 1, smooth and noisy by turns, the same in both types.
double input(int rank, std::size_t i);

// Runs the case on this rank; all ranks call it. Returns what is wrong, or nothing. *fingerprint is of the result's bytes
// (0 where the rank expects none); that the bytes are the same on every rank, where they must be, is checked here.
std::string run_case(engine::Engine& engine, const Case& c, std::uint64_t* fingerprint);

// Runs them all on this rank; also checks that homomorphic and fused give the same bytes for every algorithm. Returns the
// first few failures, and in *done how many ran.
std::vector<std::string> run_all(engine::Engine& engine, const std::vector<Case>& cases, std::size_t* done);

}  // namespace stretto::tests
