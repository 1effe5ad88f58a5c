// Common to the collectives of several hosts (nodes.hpp): this rank's place and memory, schedules between hosts, and a
// call's pieces.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.hpp"
#include "engine/engine.hpp"
#include "node/collectives/collectives.hpp"
#include "node/memory/window.hpp"
#include "schedule/schedule.hpp"

namespace stretto::backend {

// Pieces in flight between the hosts.
inline constexpr std::size_t kMostBetween = 8;

// Pieces with results that are not copied yet.
inline constexpr std::size_t kMostBehind = 2;

struct Room {
  std::vector<std::byte> bytes;
  Room* next = nullptr;
};

struct ShortRoom {
  static constexpr std::size_t kRooms = 3;
  alignas(64) std::array<std::array<std::byte, schedule::longest_short_vector(Collective::allreduce)>, kRooms> bytes;
  ShortRoom* next = nullptr;
};

struct Piece {
  std::size_t first = 0, count = 0;  // elements
  std::byte* block = nullptr;        // of this rank's lane; null: it has none, or no result there
  bool apart = false;                // `block` is in `room`
  std::unique_ptr<Room> room;
  engine::Request request;

  // Keeps its address until the next call.
  std::byte* make_room(std::size_t bytes);
};

struct Hosts {
  Hosts(engine::Engine& engine, const schedule::Groups& groups);

  // Ranks of a host without memory become hosts of their own. `lacks`: by rank.
  void part(const std::vector<char>& lacks);

  // The rank's position on its host.
  std::size_t number_of(int rank) const noexcept;

  // Between `peers`, one of each host. `root`: one of these; negative: none.
  std::shared_ptr<const schedule::Schedule> schedule_of(Collective kind, const select::Choice& choice,
                                                        std::vector<std::int32_t> peers, int root);

  // Memory for all pieces of a call. Keeps its address until made again.
  enum class Use : std::uint8_t { read_by_peers, undelivered };
  std::byte* make_room(Use use, std::size_t bytes);

  // Transfers that could not be withdrawn may still access it.
  void retain_rooms() noexcept;

  engine::Engine& engine;
  std::vector<std::vector<std::int32_t>> members;  // of each host; those without memory are parted
  std::vector<std::int32_t> group_of;              // a rank's index in members
  bool parted = false;                             // some host has no memory
  std::unique_ptr<node::Collectives> host;         // null: none was made, or this rank is alone
  std::size_t number = 0;                          // of this rank among those of its host
  std::size_t lanes = 1;                           // ranks of the smallest host
  std::int32_t index = 0;
  std::array<Piece, kMostBetween> between;
  std::vector<std::byte> copies;
  std::unique_ptr<ShortRoom> short_room;

 private:
  void find_place() noexcept;

  static constexpr std::size_t kMostKept = 64;

  struct Kept {
    Collective kind;
    std::string name;
    int blocks, radix;
    std::int32_t root_at;
    std::vector<std::int32_t> peers;
    std::shared_ptr<const schedule::Schedule> schedule;
  };
  std::vector<Kept> kept_;
  std::array<std::unique_ptr<Room>, 2> rooms_;
};

// Each piece passes begin(), end() and leave(), in one order on all ranks of a host.
class PieceByPiece {
 public:
  virtual ~PieceByPiece() = default;
  PieceByPiece(const PieceByPiece&) = delete;
  PieceByPiece& operator=(const PieceByPiece&) = delete;

 protected:
  PieceByPiece(Hosts& hosts, const Call& call, const Decision& decision, payload::Type type, engine::Report* ran);

  // With a window a rank that is ahead begins the next piece before it waits for results.
  Status run_pieces(std::size_t pieces);

  virtual Status begin(std::size_t index) = 0;
  virtual Status end(std::size_t index) = 0;
  virtual Status leave(std::size_t index) = 0;

  bool alone() const noexcept { return host_ == nullptr; }
  Piece& piece(std::size_t index) const noexcept { return at_.between[index % kMostBetween]; }

  // Ranks without a lane count the run: all ranks number runs alike.
  Status pass() noexcept;
  Status start(Piece& piece) noexcept { return at_.engine.start(work_, &piece.request); }
  Status finish(Piece& piece) noexcept;

  // Opens window_ if the host's ranks see both buffers of all others.
  Status open_window(const node::CallRecord& record, node::Window::Buffer input, node::Window::Buffer results,
                     std::size_t pieces);

  // *to = all operands of this host at byte `at`, combined in rank order. `own`: this rank's. `apart`: the sum must not
  // replace an operand before it is complete.
  Status sum_in_window(std::size_t at, std::size_t count, const std::byte* own, bool apart, std::byte* to);

  Status copy_input(std::size_t peer, std::size_t at, std::size_t bytes, std::byte* to);

  Hosts& at_;
  node::Collectives* const host_;  // null: this rank is alone
  const Collective kind_;
  const payload::Type type_;
  const std::size_t size_;
  node::Combination inside_;
  engine::Work work_;
  std::unique_ptr<node::Window> window_;

 private:
  engine::Report* const ran_;
};

}  // namespace stretto::backend
