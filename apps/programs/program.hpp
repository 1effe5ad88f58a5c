// What the programs share: arguments, refusals, timing, and what they say.
//
// Rank 0 writes events, one JSON object a line on standard output:
//   {"event": "machine", ...}   first: where this runs
//   {"event": "progress", "part": "ring", "done": 3, "total": 5}
//   {"event": "row", "part": "ring", ...}   a figure
//   {"event": "end", "seconds": 4.2}   last; without it the run was cut off
#pragma once

#include <mpi.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace stretto::programs {

using Json = nlohmann::ordered_json;

// What the user asked for cannot be done. All ranks throw it with the same words, or none does; the exit status is 2.
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

int rank_of(MPI_Comm comm);
int size_of(MPI_Comm comm);

class Report {
 public:
  Report(std::string part, bool speaks) : part_(std::move(part)), speaks_(speaks) {}

  void event(const Json& event) const;
  void row(const Json& fields) const;
  void progress(int done, int total) const;

 private:
  std::string part_;
  bool speaks_;
};

// The median of samples, and the order statistics that hold the true median with 95 % (the extremes of few samples).
struct Timing {
  double median = 0, low = 0, high = 0;
  int samples = 0;
};
Timing timing(std::vector<double> samples);

// The fields seconds, low, high and samples.
Json as_json(const Timing& timing);

// Collective. Of each sample the largest over the ranks: work that all share ends with its last rank.
std::vector<double> slowest(const std::vector<double>& mine);

// Collective. Of each sample the mean over the ranks.
std::vector<double> averaged(const std::vector<double>& mine);

// Collective. The timing of `work` on all ranks, which start together. It is run once without being counted.
Timing measure(int repeats, const std::function<void()>& work);

// Collective. Refuses what takes more than the memory of a host: `bytes` on this rank, `what` for the message.
void check_memory(double bytes, const std::string& what);

// The main function: MPI, arguments, the events around those of `run`. The name is the part's: "ring" for stretto-ring.
int program(int argc, char** argv, const std::string& name, const std::string& about,
            const std::function<void(CLI::App&)>& options, const std::function<void(Report&)>& run);

}  // namespace stretto::programs
