#pragma once

#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "model/candidates.hpp"
#include "model/choose.hpp"
#include "model/native.hpp"
#include "model/profile/machine.hpp"
#include "model/walk/programs.hpp"
#include "topology/topology.hpp"

namespace stretto::model {

class ProgramsKept {
 public:
  ProgramsKept(const topology::Topology& topology, int cores);

  const topology::Topology& topology() const noexcept { return topology_; }
  int ranks() const noexcept { return topology_.ranks(); }
  int hosts() const noexcept { return topology_.hosts(); }

  // Null: too long to walk. Valid until forget_if_full().
  const Programs* of(const Option& option, int root);

  void forget_if_full();

 private:
  using Key = std::tuple<const schedule::Algorithm*, int, int, int>;
  topology::Topology topology_;
  schedule::Groups groups_;
  int cores_;
  std::map<Key, std::unique_ptr<Programs>> kept_;
};

class Search {
 public:
  // Borrows all. `dense`: streams shrink by Question::dense_ratio.
  Search(ProgramsKept& kept, const Profile& profile, const Question& question, bool dense = false);

  std::vector<Candidate> all(const std::vector<Option>& options);

  // The cheapest of at most `least` seconds, and others walked; perhaps none. At most 1 % above the least of all().
  // `beyond_mpis`: without paths that an MPI has.
  std::vector<Candidate> cheapest(const std::vector<Option>& options, double least, bool beyond_mpis);

  // An unmeasured MPI is taken to run the best flat raw schedule, without torus schedules, in steps of no cost.
  // Infinite: none.
  double least_of_mpi(const std::vector<Option>& options);

  // least_of_mpi() by cheapest()'s search, which ends at `enough`.
  double guess_of_mpi(const std::vector<Option>& options, double enough);

  // The messages need a rendezvous of the profile's MPI: the guesses then count exchanges one after the other.
  bool takes_turns() const noexcept;

  // 0: unknown.
  double seconds_of(const KnownOfMpi& known);

 private:
  struct Line {
    const Programs* programs;
    std::vector<Candidate> ways;
    bool an_mpi_has_it, this_mpi_has_it;
  };
  template <class Walk, class Wanted>
  std::vector<Candidate> search(const std::vector<Option>& options, double least, double enough, const Walk& walk,
                                const Wanted& wanted);
  std::size_t middle_of(const std::vector<Candidate>& ways, bool pieces) const noexcept;
  std::vector<Line> lines_of(const Option& option);
  double whole() const noexcept;
  double seconds(const Line& line, Candidate& way, double enough) const;
  double mpi_seconds(const Line& line, const Candidate& way, double enough) const;

  ProgramsKept& kept_;
  const Profile& profile_;
  const Question& question_;
  double ratio_;
  Machine machine_, stepless_;
  double even_cost_;
};

}  // namespace stretto::model
