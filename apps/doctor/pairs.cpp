#include "pairs.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "examine.hpp"
#include "node/memory/handle.hpp"
#include "node/memory/memory.hpp"
#include "node/memory/segment.hpp"

namespace stretto::doctor {
namespace {

constexpr int kListed = 64;  // limit of named pairs

struct Card {
  std::uint64_t secret = 0, address = 0;  // of a copy of the secret
  std::int32_t pid = 0, fd = -1;          // fd: of a memfd that holds the secret
};

struct Trial {
  std::int32_t kernel = 0, descriptor = 0;  // errno; 0: success; -1: other bytes were read
};

std::int32_t try_kernel(const Card& card) {
  std::uint64_t read = 0;
  errno = 0;
  if (node::read_process(card.pid, card.address, &read, sizeof read) != Status::ok) return errno != 0 ? errno : EPERM;
  return read == card.secret ? 0 : -1;
}

std::int32_t try_descriptor(const Card& card) {
  if (card.fd < 0) return EBADF;
  const node::Descriptor theirs(open(fmt::format("/proc/{}/fd/{}", card.pid, card.fd).c_str(), O_RDWR | O_CLOEXEC));
  if (!theirs) return errno;
  std::uint64_t read = 0;
  if (pread(theirs.get(), &read, sizeof read, 0) != static_cast<ssize_t>(sizeof read)) return errno != 0 ? errno : EIO;
  return read == card.secret ? 0 : -1;
}

std::string why(std::int32_t error) { return error < 0 ? "something else was read" : std::strerror(error); }

}  // namespace

Json failing_pairs(node::Exchange& here) {
  const auto p = static_cast<std::size_t>(here.size());

  node::Token secret{};
  // The secret only tells ranks apart, so without random numbers the process id serves.
  if (node::random_token(&secret) != Status::ok) secret[0] = 0x9E3779B97F4A7C15u * static_cast<std::uint64_t>(getpid());
  const node::Descriptor mine = node::make_memory("stretto-doctor", sizeof secret[0]);
  const bool written =
      mine && write(mine.get(), secret.data(), sizeof secret[0]) == static_cast<ssize_t>(sizeof secret[0]);
  const Card card{secret[0], reinterpret_cast<std::uint64_t>(secret.data()), getpid(), written ? mine.get() : -1};
  std::vector<Card> cards(p);
  check(here.allgather(&card, sizeof card, cards.data()));

  std::vector<Trial> own(p);
  for (std::size_t r = 0; r < p; ++r)
    if (static_cast<int>(r) != here.rank()) own[r] = {try_kernel(cards[r]), try_descriptor(cards[r])};
  std::vector<Trial> all(p * p);
  // The cards stay valid until all have tried: the gathering ends after every rank's trials.
  check(here.allgather(own.data(), p * sizeof(Trial), all.data()));

  Json pairs = Json::array();
  std::size_t failing = 0;
  for (std::size_t from = 0; from < p; ++from) {
    for (std::size_t to = 0; to < p; ++to) {
      const Trial& t = all[from * p + to];
      for (const auto& [way, error] : {std::pair{"kernel", t.kernel}, std::pair{"descriptor", t.descriptor}}) {
        if (error == 0) continue;
        if (++failing <= kListed) pairs.push_back({{"way", way}, {"from", from}, {"to", to}, {"why", why(error)}});
      }
    }
  }
  return {{"failing", failing}, {"pairs", std::move(pairs)}};
}

}  // namespace stretto::doctor
