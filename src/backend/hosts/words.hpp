// Agreement of a blocking call's ranks by messages: each gives a word of its arguments, and what travels with it. If all
// words are equal, so are the calls, and all have what came of it; else nobody has, and signatures must be exchanged.
//
// On each host with memory the first rank collects words and values by lines, and hands the outcome round; other ranks
// stand for themselves. Between those that stand, whatever is called: recursive doubling, log2(n) rounds, and two more
// unless n is a power of two. Messages go by the engine of agreements, under the number of its next run.
//
// A rank that started a nonblocking call instead is in the full exchange of that run. Ranks of its host learn it from
// their memory, and those of other hosts by answer(): their words are then unequal.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/backend.hpp"
#include "backend/hosts/hosts.hpp"
#include "call/call.hpp"
#include "engine/engine.hpp"
#include "node/collectives/combine.hpp"

namespace stretto::backend {

// What travels with a word; equal on all ranks with equal words.
struct Load {
  enum class Way : std::uint8_t { none, combine, broadcast, merge };

  Way way = Way::none;
  std::size_t bytes = 0;     // at most schedule::longest_short_call
  const void* in = nullptr;  // null: in `out`
  void* out = nullptr;
  int root = -1;  // of a broadcast, or the only rank with a result; negative: all have one
  payload::Type type{};
  payload::Op op{};
  std::size_t count = 0;
  void (*merge)(const void* from, void* into) = nullptr;  // in any order
};

// Precondition: is_short(shape), and no barrier. Buffers as in Call.
Load load_of(const Shape& shape, const void* send, void* recv) noexcept;

struct WordRooms {
  struct alignas(64) Message {
    std::uint64_t word = 0, bytes = 0;
    std::array<std::byte, schedule::longest_short_call> data;
  };
  std::array<Message, 3> messages;
  WordRooms* next = nullptr;
};

class Words final : public engine::AnswersWords {
 public:
  // Borrowed.
  Words(engine::Engine& agreements, const Backends& backends) noexcept : engine_(agreements), backends_(backends) {}

  // Collective. `what` names the call in messages, and has static storage. `word` 0 equals no other. *same: all words were
  // equal, and the run is counted. Else the outputs are untouched, and a run of the engine must follow. Adds the values
  // that were sent to *ran, unless null. After a failure all ranks must give up.
  Status agree(const char* what, std::uint64_t word, const Load& load, double timeout, bool* same,
               engine::Report* ran) noexcept;

  std::span<const std::int32_t> senders() const noexcept override;
  void answer(std::uint64_t number) noexcept override;

 private:
  using Message = WordRooms::Message;

  Status prepare() noexcept;
  bool is_arranged() const noexcept;
  void arrange();
  void put_own(const Load& load) noexcept;
  void take(const std::byte* data, std::uint64_t word, std::size_t bytes, const Load& load) noexcept;
  void take_other(const Load& load, bool other_first) noexcept;
  void deliver(const std::byte* data, std::size_t bytes, const Load& load) const noexcept;
  Status stand(const Load& load) noexcept;
  Status follow(const Load& load) noexcept;
  Status between(const Load& load) noexcept;
  Status swap(std::size_t with, const Message& given, Message* taken) noexcept;
  Status send(std::size_t to) noexcept;
  Status receive(std::size_t from) noexcept;
  engine::ShortMessage sent(std::size_t to, const Message& given) noexcept;
  bool only_forms_differ(Status s) const noexcept;

  Message& own() noexcept { return rooms_->messages[own_]; }
  Message& other() noexcept { return rooms_->messages[(own_ + 1) % 3]; }
  Message& spare() noexcept { return rooms_->messages[(own_ + 2) % 3]; }

  engine::Engine& engine_;
  const Backends& backends_;
  std::unique_ptr<WordRooms> rooms_;

  // Who stands for whom, as of `hosts_`, or for ranks without memory.
  bool arranged_ = false;
  Hosts* hosts_ = nullptr;
  std::vector<std::int32_t> standing_, senders_;
  std::vector<int> mates_;  // the other ranks of this host, by number
  std::size_t here_ = 0;
  bool stands_ = false;

  // Of the current call.
  engine::ShortRun run_;
  engine::Report* ran_ = nullptr;
  std::uint64_t word_ = 0;
  bool same_ = false;
  std::size_t own_ = 0;
};

}  // namespace stretto::backend
