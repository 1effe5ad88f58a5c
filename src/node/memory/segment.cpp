#include "node/memory/segment.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/guarded.hpp"
#include "node/arena/anonymous.hpp"

namespace stretto::node {
namespace {

struct Identity {
  Token token{};
  unsigned generation = 0;
  bool drawn = false;
};

std::shared_ptr<Mapping> map_shared(int fd, std::size_t bytes) noexcept {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, fd < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
  return at == MAP_FAILED ? nullptr : Mapping::own(at, bytes);
}

// Threads share the mapping at rank 0's address.
Status share_in_process(Exchange& exchange, GatherBuffer& gathering, std::size_t bytes,
                        std::shared_ptr<Mapping>* segment) noexcept {
  if (exchange.rank() == 0) *segment = map_shared(-1, bytes);
  std::span<const std::uintptr_t> all;
  const auto mine = exchange.rank() == 0 && *segment ? reinterpret_cast<std::uintptr_t>(segment) : 0;
  if (const Status s = gathering(exchange, mine, &all); s != Status::ok) return s;
  if (all[0] == 0) return fail(Status::out_of_memory, "no memory for a segment of {} bytes", bytes);
  if (exchange.rank() != 0) *segment = *reinterpret_cast<const std::shared_ptr<Mapping>*>(all[0]);
  return agree(exchange, Status::ok);  // rank 0's pointer stays valid until all have copied it
}

Status refuse(std::size_t bytes, int error) noexcept {
  if (error == EFBIG)
    return fail(Status::out_of_memory,
                "no shared memory of {} bytes: files of this process have {} at most (RLIMIT_FSIZE)", bytes,
                arena::longest_file());
  return fail(Status::out_of_memory, "no shared memory of {} bytes: {}", bytes, std::strerror(error));
}

Status share_between_processes(Exchange& exchange, std::size_t bytes, Passing passing,
                               std::shared_ptr<Mapping>* segment) noexcept {
  Status status = Status::ok;
  Descriptor memory;
  if (exchange.rank() == 0) {
    memory = make_memory("stretto-node", bytes);
    if (!memory) status = refuse(bytes, errno);
  }
  if (status = agree(exchange, status); status != Status::ok) return status;
  std::vector<Descriptor> all;
  if (status = pass_descriptors(exchange, memory.get(), {}, passing, &all); status != Status::ok) return status;
  *segment = map_shared(exchange.rank() == 0 ? memory.get() : all[0].get(), bytes);
  if (!*segment) status = fail(Status::out_of_memory, "cannot map {} shared bytes: {}", bytes, std::strerror(errno));
  return agree(exchange, status);
}

}  // namespace

Mapping::Mapping(void* at, std::size_t bytes) noexcept
    : at_(static_cast<std::byte*>(at)), bytes_(bytes), generation_(fork_generation()) {
  madvise(at, bytes, MADV_DONTFORK);
}

Mapping::~Mapping() {
  // A forked child may have other memory at its address.
  if (generation_ == fork_generation()) munmap(at_, bytes_);
}

std::shared_ptr<Mapping> Mapping::own(void* at, std::size_t bytes) noexcept {
  auto made = value_or<std::shared_ptr<Mapping>>(nullptr, [&] { return std::make_shared<Mapping>(at, bytes); });
  if (!made) munmap(at, bytes);
  return made;
}

Descriptor make_memory(const char* name, std::size_t bytes) noexcept {
  return Descriptor(arena::make_anonymous(name, bytes));
}

Status process_token(Token* token) noexcept {
  static Identity identity;
  static std::atomic<unsigned> drawing{0};  // generation + 1 of the holder; a parent's lock does not count in a child
  const unsigned now = fork_generation();
  for (unsigned held = 0; held == now + 1 || !drawing.compare_exchange_weak(held, now + 1, std::memory_order_acquire);
       held = drawing.load(std::memory_order_relaxed))
    sched_yield();
  Status s = Status::ok;
  if (!identity.drawn || identity.generation != now) {
    s = random_token(&identity.token);
    identity.generation = now;
    identity.drawn = s == Status::ok;
  }
  *token = identity.token;
  drawing.store(0, std::memory_order_release);
  return s;
}

Status make_segment(Exchange& exchange, std::size_t bytes, Passing passing,
                    std::shared_ptr<Mapping>* segment) noexcept {
  GatherBuffer gathering;
  Token mine{};
  Status status = process_token(&mine);
  if (status == Status::ok)
    status = guarded({"for {} ranks to make a segment", exchange.size()}, [&] { gathering.reserve(exchange.size()); });
  if (status = agree(exchange, status); status != Status::ok) return status;
  std::span<const Token> tokens;
  if (const Status s = gathering(exchange, mine, &tokens); s != Status::ok) return s;
  bool one_process = true;
  for (const Token& t : tokens) one_process &= t == tokens[0];
  return one_process ? share_in_process(exchange, gathering, bytes, segment)
                     : share_between_processes(exchange, bytes, passing, segment);
}

}  // namespace stretto::node
