// What happened to the program's calls on this rank, by operation and way.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "mpi/calls/wrapped_call.hpp"
#include "mpi/process/timeline.hpp"

namespace stretto::mpi {

// How a way ends that nothing but the model decided, and one that it decided without a measurement.
inline constexpr const char *predicted_reason = "predicted", *assumed_reason = "assumed";

// The most bytes of a call in each class of sizes; calls of one class are one row. The last class has no end.
inline constexpr std::array<double, 5> largest_of_size = {0x1p10, 0x1p16, 0x1p20, 0x1p24,
                                                          std::numeric_limits<double>::infinity()};

struct Way {
  std::string operation;  // "allreduce", "iallreduce", "allreduce_init"
  std::string path;       // what served it ("ring, fused"), or "MPI"
  std::string why;
  std::size_t size = 0;  // class of sizes: the place in largest_of_size; Statistics sets it
  auto operator<=>(const Way&) const = default;
};

// What calls left out of the range of their bound.
struct Ignored {
  std::uint64_t calls = 0;   // that left something out
  std::uint64_t values = 0;  // of the call that left most out, and its ranges, without them and with them
  double lo = 0, hi = 0, all_lo = 0, all_hi = 0;

  void add(const Ignored& other) noexcept;
};

struct Tally {
  std::uint64_t calls = 0;
  double bytes = 0;                // as Shape counts them
  double seconds = 0;              // inside the calls
  double raw_bytes = 0;            // what would have been sent without compression,
  double sent_bytes = 0;           // and what was, in those calls of which that is known;
  double known = 0;                // how many these are
  double promised_error = 0;       // the largest
  double error_with_rounding = 0;  // the same, of calls with a bound; infinite: not known
  double saved = 0;                // seconds, an estimate: see Statistics::all
  double saved_least = 0;          // between these, where calls scatter as they did
  double saved_most = 0;
  double predicted = 0;  // seconds that the model expected, and of the MPI's own collective in these calls' place
  double predicted_mpi = 0;
  double in_flight = 0;  // seconds from starts until the data were there, where communication cores moved them;
  double attended = 0;   // those that the program spent in these starts and in waits;
  double hidden = 0;     // those under way that it did not so spend;
  int split = 0;         // the most levels of a tree that its cores did
  Ignored ignored;

  void add(const Tally& other) noexcept;
};

// Of one way: what all calls were, and when.
struct Record {
  Tally tally;
  Timeline timeline;  // from the end of MPI_Init on
};

// What ran. Of calls whose data communication cores move, no time in the call compares with the MPI's.
enum class Server : std::uint8_t { stretto, mpi, cores };

class Statistics {
 public:
  // One call, whose bytes say the class of sizes.
  void add(Way way, const Tally& tally, Server server);

  // With what was saved: for each way the difference of the medians of its latest calls and of the latest ones of the same operation and about the same
  // length (a factor of two) that the MPI's own collective served in this process, times its calls; nothing where there were none of these.
  // Least and most: from the quartiles that lie nearest and farthest.
  std::map<Way, Record> all() const;

 private:
  using Length = std::pair<std::string, int>;  // operation, and the logarithm of the bytes
  // The latest calls of a kind: a call that met a busy machine or late ranks does not show in their median.
  class Latest {
   public:
    void add(double seconds) noexcept { kept_[calls_++ % kept_.size()] = static_cast<float>(seconds); }
    double calls() const noexcept { return static_cast<double>(calls_); }
    double quantile(double part) const noexcept;  // 0.5: the median

   private:
    std::uint64_t calls_ = 0;
    std::array<float, 63> kept_{};
  };
  mutable std::mutex mutex_;
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::map<Way, Record> all_;
  std::map<Way, std::map<int, Latest>> ours_;
  std::map<Length, Latest> theirs_;
};

std::string name_of(const WrappedCall& call);

// Of a start of a persistent one.
std::string name_of_start(const WrappedCall& call);

}  // namespace stretto::mpi
