#include "node/memory/memory.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

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

// Steps that can fail on one rank alone precede the first exchange, or disable an access for all.
Status Memory::create(Exchange& exchange, const Group& group, const MemoryOptions& options,
                      std::unique_ptr<Memory>* memory) noexcept {
  const auto p = static_cast<std::size_t>(exchange.size());
  std::unique_ptr<Memory> made;
  Setup setup{exchange, {}, {}, {}};
  Status status = guarded({"for {} peers", p}, [&] {
    made.reset(new Memory);
    made->peers_.resize(p);
    setup.gathering.reserve(exchange.size());
    setup.skip.resize(p);
  });
  if (status = agree(exchange, status); status != Status::ok) return status;
  if (status = made->build(setup, group, options); status != Status::ok) return status;
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

Status Memory::build(Setup& setup, const Group& group, const MemoryOptions& options) noexcept {
  bool one_process = true;
  for (int r = 0; r < group.size(); ++r) {
    peers_[static_cast<std::size_t>(r)].pid = group.process(r);
    one_process &= group.same_process(r);
  }
  usable_[static_cast<std::size_t>(Access::staged)] = true;
  reason_[static_cast<std::size_t>(Access::staged)] = "always";
  if (const Status s = settle(setup, Access::process, options.process && one_process,
                              options.process ? "ranks are processes" : "switched off");
      s != Status::ok)
    return s;
  if (const Status s = build_arenas(setup, options); s != Status::ok) return s;
  if (const Status s = build_xpmem(setup, options); s != Status::ok) return s;
  return build_kernel(setup, options);
}

// The reason is that of the first rank without it.
Status Memory::settle(Setup& setup, Access a, bool mine, std::string_view why) noexcept {
  struct Vote {
    char can;
    char why[159];
  } vote{static_cast<char>(mine ? 1 : 0), {}};
  why.copy(vote.why, sizeof vote.why - 1);
  std::span<const Vote> all;
  if (const Status s = setup.gathering(setup.exchange, vote, &all); s != Status::ok) return s;
  const auto cannot = std::find_if(all.begin(), all.end(), [](const Vote& v) { return v.can == 0; });
  usable_[static_cast<std::size_t>(a)] = cannot == all.end();
  auto& reason = reason_[static_cast<std::size_t>(a)];
  const bool told = attempt([&] {
    reason =
        cannot == all.end() ? std::string("in use") : fmt::format("{} (rank {})", cannot->why, cannot - all.begin());
  });
  if (!told) reason.clear();
  return Status::ok;
}

Status Memory::build_xpmem(Setup& setup, const MemoryOptions& options) noexcept {
  std::string why = "switched off";
  const auto load = [&] {
    if (options.xpmem) xpmem_ = Xpmem::load(options.xpmem_library, &why);
  };
  if (!attempt(load)) why = "no memory";
  std::span<const std::int64_t> segments;
  if (const Status s = setup.gathering(setup.exchange, xpmem_ ? xpmem_->segment() : std::int64_t{-1}, &segments);
      s != Status::ok)
    return s;
  bool can = xpmem_ != nullptr;
  const auto open = [&] {
    if (can && std::count(segments.begin(), segments.end(), -1) > 0) can = false, why = "another rank has none";
    if (can) can = xpmem_->open({segments.begin(), segments.end()}, &why);
  };
  if (!attempt(open)) can = false, why = "no memory";
  return settle(setup, Access::xpmem, can, why);
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
