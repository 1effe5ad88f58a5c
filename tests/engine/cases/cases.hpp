// One collective, run on this rank and compared with its expected result. Equal cases (case_list.hpp) run over
// threads and over MPI.
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

// Runs the case on this rank; all ranks call it. Returns a description of a failure, or "". *fingerprint is a hash of
// the result's bytes (0 if the rank expects none). Also checks that bytes are equal on every rank where they must be.
std::string run_case(engine::Engine& engine, const Case& c, std::uint64_t* fingerprint);

// Runs all cases on this rank; also checks that homomorphic and fused give equal bytes for every algorithm. Returns the
// first few failures; *done counts the cases run.
std::vector<std::string> run_all(engine::Engine& engine, const std::vector<Case>& cases, std::size_t* done);

}  // namespace stretto::tests
