#include <sys/prctl.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <fstream>

#include "base/guarded.hpp"
#include "node/memory/memory_setup.hpp"

namespace stretto::node {
namespace {

// Under Yama's scope 1 only ancestors and named processes may.
void let_siblings_read(const char* yama_scope) noexcept {
#ifdef PR_SET_PTRACER_ANY
  int scope = 0;
  if (!attempt([&] { std::ifstream(yama_scope) >> scope; })) return;
  if (scope == 1) prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
#else
  static_cast<void>(yama_scope);
#endif
}

}  // namespace

void Memory::offer_kernel(Setup& setup) noexcept {
  Token token{};
  if (!setup.options.kernel) return setup.answer(Access::kernel, false, "switched off");
  const Status s = random_token(&token);
  setup.answer(Access::kernel, s);
  if (s == Status::ok) setup.mine.secret = &setup.secret;
  setup.mine.value = setup.secret = token[0];
}

// Only a real read shows whether the kernel permits it.
void Memory::try_kernel(Setup& setup) noexcept {
  const auto is_unwanted = [](const Setup::Facts& f) { return f.secret == nullptr; };
  if (std::any_of(setup.all.begin(), setup.all.end(), is_unwanted)) return;
  Status s = Status::ok;
  for (std::size_t r = 0; r < peers_.size() && s == Status::ok; ++r) {
    const Setup::Facts& theirs = setup.all[r];
    std::uint64_t seen = 0;
    s = read_process(peers_[r].pid, reinterpret_cast<std::uintptr_t>(theirs.secret), &seen, sizeof seen);
    setup.answers.refused = s != Status::ok && errno == EPERM;
    if (s == Status::ok && seen != theirs.value)
      s = fail(Status::unsupported, "process {} is another one here: the ranks have namespaces of their own",
               peers_[r].pid);
  }
  setup.answer(Access::kernel, s);
}

// Opens this process to readers (PR_SET_PTRACER) only if a rank needs it: any process may then read all its memory.
void Memory::retry_kernel(Setup& setup) noexcept {
  let_siblings_read(setup.options.yama_scope);
  if (const Status s = agree(setup.exchange, Status::ok); s != Status::ok) return setup.answer(Access::kernel, s);
  try_kernel(setup);
}

}  // namespace stretto::node
