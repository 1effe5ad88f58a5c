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
#include "mpi/report/timeline.hpp"

namespace stretto::mpi {

inline constexpr const char* kBriefReason = "short for its bound";

// Last words of a path that the model alone decided, with or without measurements.
inline constexpr const char *kPredictedReason = "predicted", *kAssumedReason = "assumed";

// In bytes; calls of one class share a row.
inline constexpr std::array<double, 5> kLargestOfSize = {0x1p10, 0x1p16, 0x1p20, 0x1p24,
                                                         std::numeric_limits<double>::infinity()};

struct RowKey {
  std::string operation;  // "allreduce", "iallreduce"
  std::string path;       // "ring, fused", or "MPI"
  std::string why;
  std::size_t size = 0;
  auto operator<=>(const RowKey&) const = default;
};

struct Ignored {
  std::uint64_t calls = 0;
  std::uint64_t values = 0;  // in the worst call, with its ranges without and with them
  double lo = 0, hi = 0, all_lo = 0, all_hi = 0;

  void add(const Ignored& other) noexcept;
};

struct Tally {
  std::uint64_t calls = 0;
  double bytes = 0;
  double seconds = 0;
  double raw_bytes = 0;  // to send without compression
  double sent_bytes = 0;
  double known = 0;
  double promised_error = 0;
  double error_with_rounding = 0;  // maximum over calls with a bound; infinite: unknown
  double saved = 0;                // estimate in seconds (Statistics::all)
  double saved_least = 0;
  double saved_most = 0;
  double predicted = 0;  // seconds by the model, for these calls and for the MPI's own collective
  double predicted_mpi = 0;
  double in_flight = 0;
  double attended = 0;
  double hidden = 0;  // part of it beside the program's own work
  int split = 0;      // most tree levels on the program's cores
  Ignored ignored;

  void add(const Tally& other) noexcept;
};

struct Record {
  Tally tally;
  Timeline timeline;
};

// Times of calls on communication cores are not comparable with the MPI's.
enum class Server : std::uint8_t { stretto, mpi, cores };

class Statistics {
 public:
  void add(RowKey key, const Tally& tally, Server server);

  // A path saves its number of calls times a difference of medians: its latest calls against the MPI's latest of that
  // operation and length (within a factor of two). saved_least and saved_most use the nearest and the farthest
  // quartiles.
  std::map<RowKey, Record> all() const;

 private:
  using Length = std::pair<std::string, int>;
  // The median of the latest calls ignores delays.
  class LatestTimes {
   public:
    void add(double seconds) noexcept { kept_[calls_++ % kept_.size()] = static_cast<float>(seconds); }
    double calls() const noexcept { return static_cast<double>(calls_); }
    double quantile(double part) const noexcept;

   private:
    std::uint64_t calls_ = 0;
    std::array<float, 63> kept_{};
  };
  mutable std::mutex mutex_;
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::map<RowKey, Record> all_;
  std::map<RowKey, std::map<int, LatestTimes>> ours_;
  std::map<Length, LatestTimes> theirs_;
};

std::string name_of(const WrappedCall& call);

std::string name_of_start(const WrappedCall& call);

}  // namespace stretto::mpi
