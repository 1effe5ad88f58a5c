// Statistics of the program's calls on this rank, by operation and path.
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

// Last words of a path that the model alone decided, by measurements or without.
inline constexpr const char *predicted_reason = "predicted", *assumed_reason = "assumed";

// Upper bounds of the classes of sizes, in bytes; calls of one class share a row. The last class is unbounded.
inline constexpr std::array<double, 5> largest_of_size = {0x1p10, 0x1p16, 0x1p20, 0x1p24,
                                                          std::numeric_limits<double>::infinity()};

struct Way {
  std::string operation;  // "allreduce", "iallreduce", "allreduce_init"
  std::string path;       // the serving path ("ring, fused"), or "MPI"
  std::string why;
  std::size_t size = 0;  // class of sizes, an index into largest_of_size; set by Statistics
  auto operator<=>(const Way&) const = default;
};

// Values that calls excluded from the range of their bound.
struct Ignored {
  std::uint64_t calls = 0;   // calls that excluded a value
  std::uint64_t values = 0;  // of the call with most excluded values; the ranges without and with them
  double lo = 0, hi = 0, all_lo = 0, all_hi = 0;

  void add(const Ignored& other) noexcept;
};

struct Tally {
  std::uint64_t calls = 0;
  double bytes = 0;                // as Shape counts them
  double seconds = 0;              // inside the calls
  double raw_bytes = 0;            // bytes to send without compression
  double sent_bytes = 0;           // bytes sent, over calls that know them
  double known = 0;                // number of these calls
  double promised_error = 0;       // maximum
  double error_with_rounding = 0;  // maximum over calls with a bound; infinite: unknown
  double saved = 0;                // estimate in seconds, see Statistics::all
  double saved_least = 0;          // interval of `saved`, from the scatter of the calls
  double saved_most = 0;
  double predicted = 0;  // seconds that the model predicted, for these calls and for the MPI's own collective
  double predicted_mpi = 0;
  double in_flight = 0;  // communication cores: seconds from the starts until the data arrived
  double attended = 0;   // of these, seconds that the program spent in starts and waits
  double hidden = 0;     // of these, seconds beside the program's own work
  int split = 0;         // most levels of a tree run by the program's cores
  Ignored ignored;

  void add(const Tally& other) noexcept;
};

// The calls of one path, and their times.
struct Record {
  Tally tally;
  Timeline timeline;  // starts at the end of MPI_Init
};

// Server of a call. The time in calls whose data communication cores move is not comparable with the MPI's.
enum class Server : std::uint8_t { stretto, mpi, cores };

class Statistics {
 public:
  // Adds one call; its bytes select the class of sizes.
  void add(Way way, const Tally& tally, Server server);

  // All records with savings. The saving of a path is its number of calls times a difference of medians: of its latest
  // calls, and of the latest calls of the same operation and length (within a factor of two) that the MPI served in
  // this process. Without such calls it is 0. saved_least and saved_most use the nearest and the farthest quartiles.
  std::map<Way, Record> all() const;

 private:
  using Length = std::pair<std::string, int>;  // operation, and the binary logarithm of the bytes
  // The latest calls of a kind. Calls delayed by a busy machine or late ranks do not affect their median.
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

// Name of a start of a persistent call.
std::string name_of_start(const WrappedCall& call);

}  // namespace stretto::mpi
