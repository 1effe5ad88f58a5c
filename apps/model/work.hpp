// What a program computes and communicates, from a text or from the report of a run.
#pragma once

#include <string>
#include <vector>

#include "arguments.hpp"

namespace stretto::app {

struct TreeCall {
  schedule::Collective collective{};
  bool started = false;  // before the work, and waited for after it; else blocking
  double bytes = 0;      // of the whole vector, as Native counts them (model/profile/profile.hpp)
  double calls = 1;      // in an iteration
};

struct Work {
  double compute = 0;  // seconds of an iteration when every core has a rank
  double other = 0;    // seconds of the whole program that no number of ranks changes
  int repeat = 1;      // iterations
  std::vector<TreeCall> calls;
  std::vector<std::string> assumed;  // of the program, to be told
};

std::string name_of(const TreeCall& call);  // "ireduce", "bcast"

// "1.5s", "20ms", "300us". Throws Problem where it is no time above 0.
double parse_time(const std::string& text);

// "compute 20ms, ireduce 2M, repeat 100". Throws Problem with the word that is wrong.
Work parse_work(const std::string& text);

// Of the JSON that `stretto run --report-to` wrote, where the whole run took `seconds`. One iteration stands for the run.
Work read_report(const std::string& path, double seconds, int cores);

}  // namespace stretto::app
