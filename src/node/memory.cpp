#include "node/memory.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstring>
#include <new>

#include "node/arena/arena.hpp"
#include "node/xpmem.hpp"

namespace stretto::node {

Answer answer(Access a) noexcept {
  switch (a) {
    case Access::staged: return Answer::staged;
    case Access::process:
    case Access::arena:
    case Access::xpmem: return Answer::mapped;
    case Access::kernel: return Answer::copyable;
  }
  return Answer::staged;
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

const char* name(Answer a) noexcept {
  switch (a) {
    case Answer::mapped: return "mapped";
    case Answer::copyable: return "copyable";
    case Answer::staged: return "staged";
  }
  return "?";
}

Status Memory::create(Exchange& exchange, const Group& group, const MemoryOptions& options,
                      std::unique_ptr<Memory>* memory) noexcept {
  try {
    std::unique_ptr<Memory> made(new Memory);
    if (const Status s = made->build(exchange, group, options); s != Status::ok) return s;
    *memory = std::move(made);
    return Status::ok;
  } catch (const std::bad_alloc&) {
    return fail(Status::out_of_memory, "no memory for {} peers", exchange.size());
  }
}

Memory::~Memory() = default;

Status Memory::build(Exchange& exchange, const Group& group, const MemoryOptions& options) {
  peers_.resize(static_cast<std::size_t>(exchange.size()));
  bool one_process = true;
  for (int r = 0; r < exchange.size(); ++r) {
    peers_[static_cast<std::size_t>(r)].pid = group.process(r);
    one_process &= group.same_process(r);
  }
  usable_[static_cast<std::size_t>(Access::staged)] = true;
  reason_[static_cast<std::size_t>(Access::staged)] = "always";
  if (const Status s = settle(exchange, Access::process, options.process && one_process,
                              options.process ? "ranks are processes" : "switched off");
      s != Status::ok)
    return s;
  if (const Status s = build_arenas(exchange, options); s != Status::ok) return s;
  if (const Status s = build_xpmem(exchange, options); s != Status::ok) return s;
  return build_kernel(exchange, group, options);
}

// Used when all ranks can; the reason is that of the first rank that cannot.
Status Memory::settle(Exchange& exchange, Access a, bool mine, const std::string& why) {
  struct Verdict {
    char can;
    char why[159];
  } verdict{static_cast<char>(mine ? 1 : 0), {}};
  std::strncpy(verdict.why, why.c_str(), sizeof verdict.why - 1);
  std::vector<Verdict> all;
  if (const Status s = exchange.allgather(verdict, &all); s != Status::ok) return s;
  auto& reason = reason_[static_cast<std::size_t>(a)];
  reason = "in use";
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (all[r].can) continue;
    reason = fmt::format("{} (rank {})", all[r].why, r);
    return Status::ok;
  }
  usable_[static_cast<std::size_t>(a)] = true;
  return Status::ok;
}

Status Memory::build_arenas(Exchange& exchange, const MemoryOptions& options) {
  struct Offer {
    std::uint64_t bytes = 0;
  } offer;
  const arena::View mine = options.arena ? arena::view() : arena::View{};
  offer.bytes = mine.bytes;
  std::vector<Offer> offers;
  if (const Status s = exchange.allgather(offer, &offers); s != Status::ok) return s;
  bool all_have = true;
  for (const Offer& o : offers) all_have &= o.bytes > 0;
  std::string why = options.arena ? "a process has no arena" : "switched off";
  bool can = all_have;
  if (all_have) {
    std::vector<Descriptor> all;
    can = pass_descriptors(exchange, mine.fd, {}, options.passing, &all) == Status::ok;
    if (!can) why = message();
    for (std::size_t r = 0; can && r < peers_.size(); ++r) {
      Peer& peer = peers_[r];
      peer.arena_bytes = offers[r].bytes;
      if (!all[r]) {
        peer.arena = mine.base;
        continue;
      }
      void* at = mmap(nullptr, peer.arena_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, all[r].get(), 0);
      if (at == MAP_FAILED) {
        can = false;
        why = fmt::format("no address space for the arena of rank {}", r);
        break;
      }
      madvise(at, peer.arena_bytes, MADV_DONTFORK);
      mappings_.push_back(std::make_unique<Mapping>(at, peer.arena_bytes));
      peer.arena = mappings_.back()->data();
    }
  }
  return settle(exchange, Access::arena, can, why);
}

Status Memory::build_xpmem(Exchange& exchange, const MemoryOptions& options) {
  std::string why = "switched off";
  if (options.xpmem) xpmem_ = Xpmem::load(options.xpmem_library, &why);
  std::vector<std::int64_t> segments;
  if (const Status s = exchange.allgather(xpmem_ ? xpmem_->segment() : std::int64_t{-1}, &segments); s != Status::ok)
    return s;
  bool can = xpmem_ != nullptr;
  for (const std::int64_t s : segments) {
    if (can && s == -1) can = false, why = "another rank has none";
  }
  if (can) can = xpmem_->open(segments, &why);
  return settle(exchange, Access::xpmem, can, why);
}

// Really reads eight bytes of every peer: nothing less tells whether it is permitted.
Status Memory::build_kernel(Exchange& exchange, const Group& group, const MemoryOptions& options) {
  struct Probe {
    std::uint64_t address;
    std::uint64_t value;
  };
  const Token token = random_token();
  const std::uint64_t secret = token[0];
#ifdef PR_SET_PTRACER_ANY
  // Where Yama restricts tracing to descendants, this process lets its siblings read it while they are ranks of one job.
  if (options.kernel) prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
#endif
  std::vector<Probe> all;
  if (const Status s = exchange.allgather(Probe{reinterpret_cast<std::uintptr_t>(&secret), secret}, &all);
      s != Status::ok)
    return s;
  bool can = options.kernel;
  std::string why = "switched off";
  for (int r = 0; can && r < group.size(); ++r) {
    const Probe& probe = all[static_cast<std::size_t>(r)];
    std::uint64_t seen = 0;
    if (read_process(group.process(r), probe.address, &seen, sizeof seen) != Status::ok)
      can = false, why = message();
    else if (seen != probe.value)
      can = false,
      why = fmt::format("process {} is another one here: the ranks have namespaces of their own", group.process(r));
  }
  return settle(exchange, Access::kernel, can, why);  // also keeps `secret` in place until all have read it
}

Exposure Memory::expose(const void* at, std::size_t bytes, bool kernel) const noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  if (usable(Access::process)) return {address, Access::process, 0};
  if (usable(Access::arena)) {
    const arena::View mine = arena::view();
    const auto base = reinterpret_cast<std::uintptr_t>(mine.base);
    if (address >= base && address - base + bytes <= mine.bytes) return {address - base, Access::arena, 0};
  }
  if (usable(Access::xpmem)) return {address, Access::xpmem, 0};
  if (kernel && usable(Access::kernel)) return {address, Access::kernel, 0};
  return {};
}

std::byte* Memory::reach(int peer, const Exposure& exposure, std::size_t offset, std::size_t bytes) noexcept {
  const Peer& p = peers_[static_cast<std::size_t>(peer)];
  const std::uint64_t at = exposure.address + offset;
  switch (exposure.access) {
    case Access::process: return reinterpret_cast<std::byte*>(at);
    case Access::arena: return at + bytes <= p.arena_bytes && at + bytes >= at ? p.arena + at : nullptr;
    case Access::xpmem: return xpmem_ ? xpmem_->reach(peer, at, bytes) : nullptr;
    case Access::staged:
    case Access::kernel: return nullptr;
  }
  return nullptr;
}

Status Memory::read(int peer, const Exposure& exposure, std::size_t offset, void* to, std::size_t bytes) noexcept {
  return read_process(peers_[static_cast<std::size_t>(peer)].pid, exposure.address + offset, to, bytes);
}

}  // namespace stretto::node
