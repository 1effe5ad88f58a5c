// Shared by tests in forked children.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/status.hpp"
#include "processes.hpp"

namespace stretto::node {

// Expectations in a child without gtest: prints failures on standard error, and the exit status counts them.
struct Expect {
  int failures = 0;
  void operator()(bool holds, const char* what) {
    if (holds) return;
    ++failures;
    std::fprintf(stderr, "process %d: not so: %s (%s)\n", getpid(), what, message());
  }
};

inline void all_hold(const std::vector<int>& ends) {
  for (std::size_t r = 0; r < ends.size(); ++r)
    EXPECT_TRUE(WIFEXITED(ends[r]) && WEXITSTATUS(ends[r]) == 0) << "rank " << r << " ended with " << ends[r];
}

inline constexpr auto kNothing = [](const std::vector<pid_t>&) {};

// body(exchange, expect) in a child for each rank; all must hold.
template <class Body>
void all_hold_on(int ranks, const Body& body) {
  Inherited memory(ranks);
  all_hold(on_processes(
      ranks, memory,
      [&](Exchange& exchange) {
        Expect expect;
        body(exchange, expect);
        return expect.failures;
      },
      kNothing));
}

struct Setting {
  Setting(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Setting() { unsetenv(name_); }
  const char* name_;
};

}  // namespace stretto::node
