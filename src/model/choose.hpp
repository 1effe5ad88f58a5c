// Which schedule, payload and segment a collective should run with: the cheapest that the model predicts.
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

// All that a choice depends on, the same on every rank.
struct Question {
  schedule::Collective collective{};
  std::uint64_t bytes = 0;    // of the whole vector, as Native counts them (profile.hpp)
  std::uint32_t element = 4;  // bytes; 8: the codec's float64 figures
  int root = 0;
  bool keeps_order = false;   // the operation does not commute
  bool rank_by_rank = false;  // contributions are combined one after the other, in the order of the ranks
  bool exact = false;         // raw values combine to the same bits in any brackets: integers, minimum, maximum
  bool compress = false;      // a bound allows streams
  bool code_space = false;    // and every contribution must be summed in code space (no raw sums inside a node)
  bool device = false;        // values are in the memory of devices
  bool staged = false;        // and messages pass the host's, on their way from one to another
  int reaching = 0;  // or devices reach each other's memory: this many ranks share one of them at most; 0: they do not
  bool native = false;         // the MPI's own collective can serve
  bool node = false;           // so can that of the ranks' shared memory: they are on one host
  bool node_streams = false;   // and it can with streams
  bool nodes = false;          // each of several hosts has memory that its ranks share, and a sum goes through it
  bool nodes_streams = false;  // and streams may travel between the hosts then
  bool started = false;        // as a request: the MPI's own is its nonblocking collective
  bool natives = false;        // where a native collective can serve, no schedule is wanted
  bool contest = false;        // only schedules below longest_worthwhile() of the MPI's time are wanted (native.hpp)
  double ratio = 1;            // expected of a compressed contribution
  double dense_ratio = 0;      // and of one in dense streams; 0: streams are fixed
  bool fixed = true;           // streams may be fixed
  std::string schedule;        // forced; empty: any
  int payload = -1;            // forced payload::Kind; -1: any
  std::uint64_t segment = 0;   // forced; 0: any
  // Forced: messages of fewer bytes travel raw beside streams, in floating sums too, which then round; 0: as chosen.
  std::uint64_t raw_below = 0;
};

struct Candidate {
  bool native = false;  // the provider's own; the rest but `provider`, `payload` and `seconds` is void then
  Provider provider = Provider::schedules;
  std::string schedule;
  payload::Kind payload = payload::Kind::raw;
  bool dense = false;           // streams are
  bool raw_inside = false;      // hierarchical: raw in the node, `payload` between
  std::uint64_t raw_below = 0;  // bytes: messages of fewer travel raw, whatever `payload`; 0: none do
  std::uint64_t segment = 0;    // bytes; 0: uncut
  int blocks = 0;               // pieces of a pipelined schedule; 0: as many as it needs
  int radix = 0;                // of k-nomial trees; 0: the default
  int lanes = 0;                // device: streams that segments are on
  std::uint64_t piece = 0;  // bytes that a host sums in its memory at a time (nodes.hpp); 0: no memory of several hosts
  double seconds = 0;       // predicted; 0: unknown (Question::natives, where none is measured)
  bool assumed = false;  // of the node's: nobody measured it here, so it is a part of the MPI's time (unmeasured_node)
};

// The question that stands for those of its cell: bytes and ratio on a logarithmic grid, eight cells a factor of two.
// Below 16 every number of bytes is a cell of its own.
Question on_grid(Question q) noexcept;

// 2 to the power of so many eighths, the same bits on every machine: what ranks conclude from it is the same on all of
// them, which the last bit of a library's function need not be.
double power_of_two(long eighths) noexcept;

class Chooser {
 public:
  Chooser(Profile profile, topology::Topology topology);
  ~Chooser();
  Chooser(Chooser&&) noexcept;
  Chooser& operator=(Chooser&&) noexcept;

  // The cheapest candidate for on_grid(question), kept, so that a repeated question takes well under 2 microseconds.
  // *own, where it is wanted: the cheapest native collective of raw values; `native` is false where none can serve;
  // *mpi_seconds: of the MPI's own, 0 where it cannot. unsupported where forced options contradict each other.
  Status choose(const Question& question, Candidate* best, Candidate* own = nullptr, double* mpi_seconds = nullptr);

  // All candidates, the cheapest first.
  Status table(const Question& question, std::vector<Candidate>* all) const;

  // Seconds of the MPI's own collective in a table, 0 where it is none of them.
  static double mpi_seconds(const std::vector<Candidate>& all) noexcept;

  const Profile& profile() const noexcept;
  const topology::Topology& topology() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stretto::model
