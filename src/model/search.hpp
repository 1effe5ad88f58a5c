// Walks the schedules that a question allows: all of them for a table, or as few as find the cheapest.
#pragma once

#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "model/candidates.hpp"
#include "model/choose.hpp"
#include "model/profile/machine.hpp"
#include "model/walk/programs.hpp"
#include "topology/topology.hpp"

namespace stretto::model {

// Schedules of one topology, made ready for walks when first asked for.
class ProgramsKept {
 public:
  // `cores`: of a host.
  ProgramsKept(const topology::Topology& topology, int cores);

  int ranks() const noexcept { return topology_.ranks(); }
  int hosts() const noexcept { return topology_.hosts(); }

  // Null: the schedule has too many steps to be walked. Valid until forget_if_full().
  const Programs* of(const Option& option, int root);

  // Forgets all where many are kept.
  void forget_if_full();

 private:
  using Key = std::tuple<const schedule::Algorithm*, int, int, int>;  // root, blocks, radix
  topology::Topology topology_;                                       // or what stands for it
  schedule::Groups groups_;
  int cores_;
  std::map<Key, std::unique_ptr<Programs>> kept_;
};

// A search over the options of one question.
class Search {
 public:
  // Borrows all of them. `dense`: streams are, and shrink by Question::dense_ratio.
  Search(ProgramsKept& kept, const Profile& profile, const Question& question, bool dense = false);

  // Every way of every option, with its time.
  std::vector<Candidate> all(const std::vector<Option>& options);

  // The cheapest way that takes no more than `least` seconds, and others that were walked on the way; none where all
  // take longer. Its time is at most 1 % above the least of all() (a test compares them). `beyond_mpis`: ways that an
  // MPI has are left out.
  std::vector<Candidate> cheapest(const std::vector<Option>& options, double least, bool beyond_mpis);

  // Seconds of an MPI that nobody measured: the least of the flat schedules on raw values, those for a torus left out,
  // in an engine whose steps take no time. Infinite: there is none.
  double least_of_mpi(const std::vector<Option>& options);

  // Like least_of_mpi(), by the search of cheapest(). Ends at the first time of at most `enough` seconds, if there is
  // one.
  double guess_of_mpi(const std::vector<Option>& options, double enough);

  // True if the MPI's own collective exchanges messages that take turns: the profile's MPI has a rendezvous between
  // hosts, and the messages are longer. guess_of_mpi() and least_of_mpi() count such exchanges one after the other.
  bool takes_turns() const noexcept;

  // Least seconds of a started sum that the profile's MPI is known to run on whole vectors; 0: not known of this sum.
  // Open MPI 4 and 5 (coll/libnbc): iallreduce of fewer than 4 ranks is a binomial tree up and down, and
  // ireduce_scatter of any number a binomial reduce before a scatter, which is not counted.
  double whole_vectors_of_mpi();

 private:
  // A schedule with one payload: ways that differ in the segment alone, the uncut one first.
  struct Line {
    const Programs* programs;
    std::vector<Candidate> ways;
    bool an_mpi_has_it;
  };
  template <class Walk, class Wanted>
  std::vector<Candidate> search(const std::vector<Option>& options, double least, double enough, const Walk& walk,
                                const Wanted& wanted);
  std::vector<Line> lines_of(const Option& option);
  double whole() const noexcept;
  double seconds(const Line& line, Candidate& way, double enough) const;
  double mpi_seconds(const Line& line, const Candidate& way, double enough) const;

  ProgramsKept& kept_;
  const Profile& profile_;
  const Question& question_;
  Machine machine_, stepless_;
  double even_cost_;
};

}  // namespace stretto::model
