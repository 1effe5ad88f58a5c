// What happened to the program's calls on this rank, by operation and way.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "mpi/call.hpp"

namespace stretto::mpi {

struct Way {
  std::string operation;  // "allreduce", "iallreduce", "allreduce_init"
  std::string path;       // what served it ("ring, fused"), or "MPI"
  std::string why;        // why it was left to the MPI; empty where stretto served it
  auto operator<=>(const Way&) const = default;
};

struct Tally {
  std::uint64_t calls = 0;
  double bytes = 0;      // as Shape counts them
  double seconds = 0;    // inside the calls
  double raw_bytes = 0;  // what would have been sent without compression, and what was; 0: not known
  double sent_bytes = 0;
  double promised_error = 0;  // the largest
  double saved = 0;           // seconds against what the model expects of the MPI's own, where it expects anything

  void add(const Tally& other) noexcept;
};

class Statistics {
 public:
  void add(const Way& way, const Tally& tally);
  std::map<Way, Tally> all() const;

 private:
  mutable std::mutex mutex_;
  std::map<Way, Tally> all_;
};

std::string name_of(const Call& call);

}  // namespace stretto::mpi
