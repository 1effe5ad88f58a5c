// Crossings of curves in published measurements: nodes of 4 A100, two HDR InfiniBand cards, bound 1e-4. docs/model.md
// ("Against what others measured") has the figures and the two assumptions beside the shipped profile.
#include <algorithm>

#include "apps/model/systems.hpp"
#include "model/profile/profile.hpp"
#include "world.hpp"

namespace stretto::model {
namespace {

using app::find_system;
using app::PublishedSystem;
using schedule::Collective;

constexpr double kGB = 1e9;
// A kernel of 32 threads a block takes this long however short its data are.
constexpr double kCallSeconds = 1.1e-3;

Machine published_machine() {
  Profile profile;
  EXPECT_EQ(shipped("a100-hdr", &profile), Status::ok) << message();
  for (CodecCost& costs : profile.f32) costs.call = kCallSeconds;
  Machine m = machine_of(profile, 4, 8);
  m.growth = 0;  // the ratio is reported of all that travels
  return m;
}

class Job {
 public:
  Job(int hosts, int per_host) : where_(topology::Topology::regular(hosts * per_host, per_host)) {}
  double system(std::string_view name, double bytes) const {
    const PublishedSystem* known = find_system(name);
    return walk(known->allreduce, known->system, bytes, known->overlap);
  }
  double raw(std::string_view schedule, double bytes) const { return walk(schedule, {}, bytes, true); }
  // The best flat schedule on raw values.
  double mpi(double bytes) const {
    return std::min({raw("ring", bytes), raw("rabenseifner", bytes), raw("recursive_doubling", bytes)});
  }

 private:
  double walk(std::string_view schedule, const System& system, double bytes, bool overlap) const {
    const Programs programs = programs_of(Collective::allreduce, schedule, where_, {true, 0, 64});
    return predict(programs, system, published_machine(), {bytes, 0, 0, overlap}).seconds;
  }
  topology::Topology where_;
};

}  // namespace

TEST(PublishedCrossovers, FusedRingPassesMpiFrom1To2GBOn32Nodes) {
  const Job job(32, 1);
  EXPECT_GT(job.system("homcomp-f", 0.5 * kGB), job.mpi(0.5 * kGB));
  EXPECT_GT(job.system("homcomp-f", 1 * kGB), job.mpi(1 * kGB));
  EXPECT_LT(job.system("homcomp-f", 2 * kGB), job.mpi(2 * kGB));
}

// The MPI's ring in rank order enters and leaves a node by one of its two cards.
TEST(PublishedCrossovers, ArgmPassesAOneCardRingNear400MB) {
  const Job job(16, 4);
  EXPECT_GT(job.system("argm", 0.3 * kGB), job.raw("ring", 0.3 * kGB));
  EXPECT_LT(job.system("argm", 0.6 * kGB), job.raw("ring", 0.6 * kGB));
  // A raw schedule over both cards stays ahead to more than a gigabyte.
  EXPECT_LT(job.mpi(0.6 * kGB), 0.6 * job.raw("ring", 0.6 * kGB));
  EXPECT_GT(job.system("argm", 0.6 * kGB), job.mpi(0.6 * kGB));
}

TEST(PublishedCrossovers, RecursiveDoublingWinsOverShortRingBlocks) {
  const Job many(64, 1);
  EXPECT_GT(many.system("homcomp-f", 1 * kGB), many.mpi(1 * kGB));
  EXPECT_LT(many.system("ghzccl", 1 * kGB), many.mpi(1 * kGB));
  const Job few(8, 1);
  EXPECT_LT(few.system("homcomp-f", 1 * kGB), few.system("ghzccl", 1 * kGB));
}

TEST(PublishedCrossovers, HierarchicalMixedGains2To3FoldAt2GBOn128) {
  const Job job(32, 4);
  const double gain = job.raw("ring", 2 * kGB) / job.system("argm", 2 * kGB);
  EXPECT_GT(gain, 1.5);
  EXPECT_LT(gain, 3);
}

}  // namespace stretto::model
