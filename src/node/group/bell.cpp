#include "node/group/bell.hpp"

#include <linux/futex.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <cstring>

#include "base/waiting.hpp"

namespace stretto::node {
namespace {

// membarrier(2), Linux 4.16; older kernel headers lack its commands.
constexpr int kGlobalExpedited = 1 << 1, kRegisterGlobalExpedited = 1 << 2;

void prepare_process() noexcept { static_cast<void>(syscall(SYS_membarrier, kRegisterGlobalExpedited, 0, 0)); }

// When the library is loaded: for a process with one thread this takes no time. One with several waits for all cores to
// pass the kernel's scheduler, 13 to 19 ms. STRETTO_NODE=0 avoids the system call.
[[gnu::constructor]] void prepare_early() noexcept {
  if (const char* const node = secure_getenv("STRETTO_NODE"); node && std::strcmp(node, "0") == 0) return;
  struct stat tasks {};
  constexpr unsigned of_a_folder = 2;  // links, beside one for each thread
  if (stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink == of_a_folder + 1) prepare_process();
}

}  // namespace

void Bell::prepare() noexcept { prepare_process(); }

// The word changes first: a rank that arms the bell later checks once more before it sleeps.
void Bell::wake() noexcept {
  std::uint32_t word = word_.fetch_add(0, std::memory_order_seq_cst);
  while (is_armed(word)) {
    if (!word_.compare_exchange_weak(word, word + 1, std::memory_order_seq_cst)) continue;
    static_cast<void>(syscall(SYS_futex, &word_, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0));
    return;
  }
}

std::uint32_t Bell::arm() noexcept {
  const std::uint32_t armed = word_.fetch_or(1, std::memory_order_seq_cst) | 1;
  static_cast<void>(syscall(SYS_membarrier, kGlobalExpedited, 0, 0));
  return armed;
}

void Bell::sleep(double seconds, std::uint32_t armed) noexcept {
  timespec t{};
  t.tv_sec = static_cast<time_t>(seconds);
  t.tv_nsec = static_cast<long>(1e9 * (seconds - static_cast<double>(t.tv_sec)));
  count_sleep();
  static_cast<void>(syscall(SYS_futex, &word_, FUTEX_WAIT, armed, &t, nullptr, 0));
}

}  // namespace stretto::node
