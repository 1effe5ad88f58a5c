// A collective of the C API in any of its forms. Forms are drawn from a seed, equal on every rank, and run over threads
// and over MPI alike. Results are compared with arithmetic, and errors with the promises of stretto.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "stretto/stretto_call.h"

namespace api_test {

bool reduces(stretto_collective c);

struct Form {
  stretto_collective collective = STRETTO_BARRIER;
  stretto_type type = STRETTO_F32;
  stretto_op op = STRETTO_SUM;
  std::size_t count = 0;
  std::vector<std::size_t> counts;  // by rank, where the collective has them; else `count` each
  std::size_t gap = 0;  // elements between blocks where displacements are given; 0: end to end, and none are
  int root = 0;
  bool in_place = false;
  bool started = false;   // the nonblocking form
  bool prepared = false;  // the persistent one, which is started, too
  bool recorded = false;  // by stretto_run() or its like; else by the function's name
  bool tested = false;    // until it is done; else waited for
  bool wavy = false;      // the values: a wave with a little noise, or noise
  std::string schedule;   // empty: chosen
  stretto_options options = STRETTO_OPTIONS_INIT;
  std::uint64_t seed = 0;  // of the values
};

// Every collective in place and not, blocking and started, without a bound and with either kind. Types, operations,
// counts (zero and fewer than ranks too), roots, schedules, payloads and other options are drawn.
std::vector<Form> draw_forms(int ranks, std::uint64_t seed);

std::string describe(const Form& form);

// Contribution of rank r, input j of several, element i: of 16 bits and a sign, so that sums of raw values are exact.
double value(const Form& form, int r, int j, std::size_t i);

// How many inputs rank r has for allreduce_multi; 1 for all others.
int inputs(const Form& form, int ranks, int r);

// Runs the form on this rank. Returns a description of a failure, or "".
std::string run_form(const Form& form, stretto_comm comm);

// Runs all forms of this seed (or of STRETTO_TEST_SEED in the environment). Returns descriptions of the first five
// failures.
std::vector<std::string> run_forms(stretto_comm comm, std::uint64_t seed);

}  // namespace api_test
