// A program's computation and communication, from a text or from the report of a run.
#pragma once

#include <string>
#include <vector>

#include "arguments.hpp"

namespace stretto::app {

struct TreeCall {
  schedule::Collective collective{};
  bool started = false;  // started before the work and waited for after it; else blocking
  double bytes = 0;      // of the whole vector, as Native counts them (model/profile/profile.hpp)
  double calls = 1;      // per iteration
};

struct Work {
  double compute = 0;  // seconds per iteration with a rank on every core
  double other = 0;    // seconds of the whole program, for any number of ranks
  int repeat = 1;      // iterations
  std::vector<TreeCall> calls;
  std::vector<std::string> assumed;  // assumptions to report
};

std::string name_of(const TreeCall& call);  // "ireduce", "bcast"

// "1.5s", "20ms", "300us". Throws Problem unless it is a positive time.
double parse_time(const std::string& text);

// "compute 20ms, ireduce 2M, repeat 100". Throws Problem with the wrong word.
Work parse_work(const std::string& text);

// Reads the JSON of `stretto run --report-to` for a run of `seconds`. One iteration represents the run.
Work read_report(const std::string& path, double seconds, int cores);

}  // namespace stretto::app
