#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/profile/profile.hpp"
#include "model/profile/provider.hpp"
#include "payload/payload.hpp"
#include "schedule/schedule.hpp"
#include "topology/topology.hpp"

namespace stretto::model {

struct Question {
  schedule::Collective collective{};
  std::uint64_t bytes = 0;    // as in Native (profile.hpp)
  std::uint32_t element = 4;  // bytes; 8: float64 codec figures
  int root = 0;
  bool keeps_order = false;
  bool rank_by_rank = false;
  bool exact = false;  // integers, minimum, maximum
  bool compress = false;
  bool code_space = false;
  bool device = false;
  bool staged = false;  // messages between devices pass the host
  int reaching = 0;     // most ranks per device, if devices reach each other's memory; else 0
  bool native = false;
  bool node = false;
  bool node_streams = false;
  bool nodes = false;          // shared memory of each of several hosts can serve
  bool nodes_streams = false;  // streams may travel between hosts then
  bool lines = false;          // few exact values travel by lines (nodes.hpp)
  bool started = false;        // the MPI's own is its nonblocking form
  bool natives = false;        // a native collective serves if possible
  bool contest = false;        // only schedules below longest_worthwhile() (native.hpp)
  double ratio = 1;
  double dense_ratio = 0;  // 0: none
  bool fixed = true;
  std::string schedule;       // empty: any
  int payload = -1;           // payload::Kind; -1: any
  std::uint64_t segment = 0;  // 0: any
  // Forced: shorter messages (bytes) are raw, even in floating sums, which then round; 0: as chosen.
  std::uint64_t raw_below = 0;
};

// A native candidate has only `provider`, `payload` and `seconds`. With `piece`, `schedule` runs between hosts.
struct Candidate {
  bool native = false;
  Provider provider = Provider::schedules;
  std::string schedule;
  payload::Kind payload = payload::Kind::raw;
  codec::Coding coding = codec::Coding::fixed;
  bool raw_inside = false;      // raw inside a host, `payload` between hosts
  std::uint64_t raw_below = 0;  // bytes: shorter messages are raw with any `payload`; 0: none
  std::uint64_t segment = 0;    // bytes; 0: uncut
  int blocks = 0;               // pieces of a pipelined schedule; 0: automatic
  int radix = 0;                // k-nomial trees; 0: default
  int lanes = 0;                // device streams for the segments; 0: default
  std::uint64_t piece = 0;      // bytes that a host sums in its memory at a time (nodes.hpp); 0: none
  double seconds = 0;           // predicted; 0: unknown (Question::natives without measurement)
  bool assumed = false;         // unmeasured: a part of the MPI's time (unmeasured_node)

  bool by_lines() const noexcept { return piece == schedule::kLongestShortCall; }
};

// Eight cells per factor of two of bytes and ratio. Each number of bytes below 16 is a cell.
Question on_grid(Question q) noexcept;

// 2^(eighths / 8), in equal bits on every machine.
double power_of_two(long eighths) noexcept;

class Chooser {
 public:
  Chooser(Profile profile, topology::Topology topology);
  ~Chooser();
  Chooser(Chooser&&) noexcept;
  Chooser& operator=(Chooser&&) noexcept;

  // The cheapest for on_grid(question), cached. *own (optional): the cheapest native collective of raw values; `native`
  // false: none can serve. *mpi_seconds: the MPI's own, or 0. unsupported: forced options contradict each other.
  Status choose(const Question& question, Candidate* best, Candidate* own = nullptr, double* mpi_seconds = nullptr);

  Status table(const Question& question, std::vector<Candidate>* all) const;

  bool by_lines(const Question& question, Candidate* found) const;

  // The MPI's own collective, or NCCL's; 0: none.
  static double mpi_seconds(const std::vector<Candidate>& all) noexcept;

  const Profile& profile() const noexcept;
  const topology::Topology& topology() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stretto::model
