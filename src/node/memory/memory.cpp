#include "node/memory/memory.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

#include "base/guarded.hpp"
#include "node/arena/arena.hpp"
#include "node/memory/memory_setup.hpp"
#include "node/memory/xpmem.hpp"

namespace stretto::node {

Visibility visibility(Access a) noexcept {
  switch (a) {
    case Access::staged: return Visibility::staged;
    case Access::process:
    case Access::arena:
    case Access::xpmem: return Visibility::mapped;
    case Access::kernel: return Visibility::copyable;
  }
  return Visibility::staged;
}

const char* name(Access a) noexcept {
  switch (a) {
    case Access::staged: return "staged";
    case Access::process: return "process";
    case Access::arena: return "arena";
    case Access::xpmem: return "xpmem";
    case Access::kernel: return "kernel";
  }
  return "?";
}

const char* name(Visibility a) noexcept {
  switch (a) {
    case Visibility::mapped: return "mapped";
    case Visibility::copyable: return "copyable";
    case Visibility::staged: return "staged";
  }
  return "?";
}

Status Memory::create(Exchange& exchange, const Group& group, const MemoryOptions& options,
                      std::unique_ptr<Memory>* memory) noexcept {
  std::unique_ptr<Memory> made;
  Setup setup(exchange, options);
  Status status = guarded({"for {} peers", exchange.size()}, [&] {
    const auto p = static_cast<std::size_t>(exchange.size());
    made.reset(new Memory);
    made->peers_.resize(p);
    setup.all.resize(p);
    setup.wanted.resize(p);
    setup.passed.resize(p);
  });
  if (status == Status::ok) {
    setup.answer(Access::arena, offer_arena(setup));
    made->offer_xpmem(setup);
    offer_kernel(setup);
  }
  std::span<const Setup::Facts> all;
  if (status = exchange.step(status, setup.mine, &all); status != Status::ok) return status;
  std::copy(all.begin(), all.end(), setup.all.begin());
  if (status = made->build(setup, group); status != Status::ok) return status;
  *memory = std::move(made);
  return Status::ok;
}

Memory::~Memory() = default;

std::unique_ptr<Memory> Memory::beside() const {
  constexpr auto xpmem = static_cast<std::size_t>(Access::xpmem);
  std::unique_ptr<Memory> made(new Memory);
  made->peers_ = peers_;
  made->usable_ = usable_;
  made->reason_ = reason_;
  if (usable(Access::xpmem)) made->reason_[xpmem] = "not for started collectives";
  made->usable_[xpmem] = false;
  made->stopped_kernel_ = stopped_kernel_;
  return made;
}

Status Memory::build(Setup& setup, const Group& group) noexcept {
  bool one_process = true;
  for (int r = 0; r < group.size(); ++r) {
    peers_[static_cast<std::size_t>(r)].pid = group.process(r);
    one_process &= group.same_process(r);
  }
  const bool process = setup.options.process;
  setup.answer(Access::staged, true, {});
  setup.answer(Access::process, process && one_process, process ? "ranks are processes" : "switched off");
  const bool arenas =
      std::all_of(setup.all.begin(), setup.all.end(), [](const Setup::Facts& f) { return f.arena_bytes > 0; });
  if (arenas) find_arenas(setup);
  if (arenas && !setup.answers.asks) setup.answer(Access::arena, map_arenas(setup));
  open_xpmem(setup);
  try_kernel(setup);
  std::span<const Setup::Answers> all;
  Status s = setup.exchange.step(Status::ok, setup.answers, &all);
  const auto any = [&all](bool Setup::Answers::*holds) {
    return std::any_of(all.begin(), all.end(), [holds](const Setup::Answers& a) { return a.*holds; });
  };
  const bool asks = any(&Setup::Answers::asks), refused = any(&Setup::Answers::refused);
  if (asks) {
    const Status passed = ask_for_offers(setup.exchange, setup.mine.arena_file, setup.wanted, setup.passed);
    setup.answer(Access::arena, passed == Status::ok ? map_arenas(setup) : passed);
  }
  if (refused) retry_kernel(setup);
  if (asks || refused) s = setup.exchange.step(s, setup.answers, &all);
  if (s != Status::ok) return s;
  // The reason is that of the first rank without it.
  for (std::size_t a = 0; a < kAccesses; ++a) {
    const auto cannot = std::find_if(all.begin(), all.end(), [a](const Setup::Answers& r) { return !r.of[a].can; });
    usable_[a] = cannot == all.end();
    const bool told = attempt([&] {
      reason_[a] = usable_[a] ? std::string(static_cast<Access>(a) == Access::staged ? "always" : "in use")
                              : fmt::format("{} (rank {})", cannot->of[a].why.data(), cannot - all.begin());
    });
    if (!told) reason_[a].clear();
  }
  settle_arenas();
  return Status::ok;
}

void Memory::offer_xpmem(Setup& setup) noexcept {
  std::string why = "switched off";
  const auto load = [&] {
    if (setup.options.xpmem) xpmem_ = Xpmem::load(setup.options.xpmem_library, &why);
  };
  if (!attempt(load)) why = "no memory";
  if (xpmem_) setup.mine.xpmem = xpmem_->segment();
  setup.answer(Access::xpmem, xpmem_ != nullptr, why);
}

void Memory::open_xpmem(Setup& setup) noexcept {
  if (!xpmem_) return;
  std::string why = "another rank has none";
  bool can = std::all_of(setup.all.begin(), setup.all.end(), [](const Setup::Facts& f) { return f.xpmem != -1; });
  const auto open = [&] {
    std::vector<std::int64_t> segments;
    for (const Setup::Facts& f : setup.all) segments.push_back(f.xpmem);
    can = can && xpmem_->open(segments, &why);
  };
  if (!attempt(open)) can = false, why = "no memory";
  setup.answer(Access::xpmem, can, why);
}

Exposure Memory::expose(const void* at, std::size_t bytes, bool kernel) const noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  if (usable(Access::process)) return {address, Access::process, 0};
  if (usable(Access::arena)) {
    const arena::View mine = arena::view();
    const auto base = reinterpret_cast<std::uintptr_t>(mine.base);
    if (address >= base && address - base + bytes <= mine.bytes) return {address - base, Access::arena, 0};
  }
  if (usable(Access::xpmem)) return has_pages(at, bytes) ? Exposure{address, Access::xpmem, 0} : Exposure{};
  if (kernel && usable(Access::kernel) && !stopped_kernel_) return {address, Access::kernel, 0};
  return {};
}

std::byte* Memory::reach(int peer, const Exposure& exposure, std::size_t offset, std::size_t bytes) noexcept {
  Peer& p = peers_[static_cast<std::size_t>(peer)];
  const std::uint64_t at = exposure.address + offset;
  switch (exposure.access) {
    case Access::process: return reinterpret_cast<std::byte*>(at);
    case Access::arena: return reach_arena(p, at, bytes);
    case Access::xpmem: return xpmem_ ? xpmem_->reach(peer, at, bytes) : nullptr;
    case Access::staged:
    case Access::kernel: return nullptr;
  }
  return nullptr;
}

Status Memory::read(int peer, const Exposure& exposure, std::size_t offset, void* to, std::size_t bytes) noexcept {
  const pid_t pid = peers_[static_cast<std::size_t>(peer)].pid;
  if (exposure.access == Access::arena)
    return fail(Status::unsupported, "{} bytes at {:#x} of the arena of rank {} (process {}) cannot be reached: {}",
                bytes, exposure.address + offset, peer, pid, std::strerror(errno));
  if (exposure.access == Access::xpmem && !usable(Access::kernel))
    return fail(
        Status::unsupported,
        "xpmem_attach of {} bytes at {:#x} of rank {} (process {}) failed: {}; and the kernel does not copy: {}", bytes,
        exposure.address + offset, peer, pid, std::strerror(errno), reason(Access::kernel));
  return read_process(pid, exposure.address + offset, to, bytes);
}

}  // namespace stretto::node
