// Limits of a process (setrlimit) are reached while a communicator is made or used. The communicator is made on all
// ranks or on none, and calls give right results or a status. Nothing leaks, and without the limit everything works
// again.
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <optional>

#include "../launched.hpp"
#include "life.hpp"

using namespace boundary;

namespace {

// On this process, while one lives.
class Limit {
 public:
  Limit(__rlimit_resource_t resource, rlim_t most) : resource_(resource) {
    getrlimit(resource, &before_);
    rlimit now = before_;
    now.rlim_cur = std::min(most, before_.rlim_max);
    setrlimit(resource, &now);
  }
  ~Limit() { setrlimit(resource_, &before_); }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  __rlimit_resource_t resource_;
  rlimit before_{};
};

rlim_t address_space() {
  std::ifstream statm("/proc/self/statm");
  rlim_t pages = 0;
  statm >> pages;
  return pages * 4096;
}

void live(bool limited, __rlimit_resource_t resource, rlim_t most) {
  SCOPED_TRACE(testing::Message() << "limit " << most);
  const int before = descriptors();
  {
    std::optional<Limit> limit;
    if (limited) limit.emplace(resource, most);
    Life life;
    EXPECT_EQ(count_of(life.made()), life.made() ? world_size() : 0) << life.text();
    EXPECT_TRUE(life.made() || !life.text().empty());
    for (int call = 0; life.made() && call < 5; ++call) {
      const bool sum = life.allreduce(1000);
      EXPECT_EQ(count_of(sum), sum ? world_size() : 0) << life.text();
      EXPECT_TRUE(sum || !life.text().empty());
    }
  }
  EXPECT_EQ(descriptors(), before);
  EXPECT_EQ(shared_mappings(), 0);
}

void as_ever() {
  Life life;
  ASSERT_TRUE(life.made()) << life.text();
#ifndef PRELOADED
  life.schedule("node");
#endif
  EXPECT_TRUE(life.allreduce(1000)) << life.text();
}

// On rank 0, which makes the memory, and on the last.
template <class Most>
void on_either(__rlimit_resource_t resource, int steps, const Most& most) {
  as_ever();  // including objects that a process makes once
  for (const int who : {0, world_size() - 1})
    for (int step = 0; step < steps && count_of(testing::Test::HasFailure()) == 0; ++step)
      live(world_rank() == who, resource, most(step));
  as_ever();
}

TEST(Limits, OfDescriptors) {
  const auto open = static_cast<rlim_t>(descriptors());
  on_either(RLIMIT_NOFILE, 6, [&](int step) { return open + static_cast<rlim_t>(step) - 3; });
}

TEST(Limits, OfFileSize) {
  on_either(RLIMIT_FSIZE, 3, [](int step) { return rlim_t{4096} << (8 * step); });
}

TEST(Limits, OfLockedMemory) {
  on_either(RLIMIT_MEMLOCK, 2, [](int step) { return static_cast<rlim_t>(step) * 4096; });
}

// The remaining memory suffices for the C library, which crashes a program without memory, and for the MPI.
TEST(Limits, OfAddressSpace) {
  on_either(RLIMIT_AS, 4, [](int step) { return address_space() + (rlim_t{1} << (20 + 2 * step)); });
}

}  // namespace

int main(int argc, char** argv) { return run_on_launched_ranks(argc, argv); }
