// Shared parts of the programs: arguments, refusals, timing, and output.
//
// Rank 0 writes events, one JSON object per line on standard output:
//   {"event": "machine", ...}   first: the machine and its software
//   {"event": "progress", "part": "ring", "done": 3, "total": 5}
//   {"event": "row", "part": "ring", ...}   a figure
//   {"event": "end", "seconds": 4.2}   last; without it the run was cut off
#pragma once

#include <mpi.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace CLI {
class App;
}

namespace stretto::programs {

using Json = nlohmann::ordered_json;

// An impossible request of the user. All ranks throw it with equal words, or none does; the exit status is 2.
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

// The median of samples, and the order statistics that contain the true median with 95 % (the extremes of few samples).
struct Timing {
  double median = 0, low = 0, high = 0;
  int samples = 0;
};
Timing timing(std::vector<double> samples);

// The fields seconds, low, high and samples.
Json as_json(const Timing& timing);

// Collective. The maximum of each sample over the ranks: shared work ends with its last rank.
std::vector<double> slowest(const std::vector<double>& mine);

// Collective. The mean of each sample over the ranks.
std::vector<double> averaged(const std::vector<double>& mine);

// Collective. Times `work` on all ranks, which start together, after one uncounted run.
Timing measure(int repeats, const std::function<void()>& work);

// Collective. Refuses more than a host's memory: `bytes` on this rank, `what` for the message.
void check_memory(double bytes, const std::string& what);

// The main function: MPI, arguments, and the events around those of `run`. `name` is the part: "ring" for stretto-ring.
int program(int argc, char** argv, const std::string& name, const std::string& about,
            const std::function<void(CLI::App&)>& options, const std::function<void(Report&)>& run);

}  // namespace stretto::programs
