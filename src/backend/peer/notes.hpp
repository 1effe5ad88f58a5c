// Notes of hosts about messages between devices.
//
//   where the receiver copies, or borrows   offer, taken
//   where the sender copies                 ask, room, put
//   where the receiver drops it             offer or ask, taken
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "base/status.hpp"
#include "carrier/carrier.hpp"
#include "device/plugin.hpp"

namespace stretto::backend {

struct Note {
  enum Kind : std::uint64_t { offer = 1, ask = 2, room = 3, put = 4, taken = 5, closed = 6 };
  std::uint64_t kind = 0;
  std::uint64_t transfer = 0;  // the addressee's number of it; offer, ask: the sender's
  std::uint64_t own = 0;       // room: its sender's number of the transfer
  std::uint64_t tag = 0;
  std::uint64_t bytes = 0;
  std::uint64_t address = 0;  // in one process; else within the handle's allocation
  device::MemoryHandle handle{};
};

class PeerNotes {
 public:
  using Clock = std::chrono::steady_clock;

  class Reader {
   public:
    virtual Status read(int peer, const Note& note) noexcept = 0;
    virtual void left(std::uint64_t transfer) noexcept = 0;

   protected:
    ~Reader() = default;
  };

  PeerNotes(int rank, std::size_t ranks);
  ~PeerNotes();
  PeerNotes(const PeerNotes&) = delete;
  PeerNotes& operator=(const PeerNotes&) = delete;

  void begin(std::unique_ptr<carrier::Carrier> carrier) noexcept;

  // `transfer`: reported to the reader when the note has left; 0: none.
  Status tell(int peer, const Note& note, std::uint64_t transfer = 0) noexcept;
  Status hear(Reader& reader) noexcept;

  bool lost(int rank) const noexcept { return lost_[static_cast<std::size_t>(rank)] != 0; }

  // `says`: tells all others that this rank no longer accesses their memory. Waits until they tell so, too. True: all
  // did before `limit`. No note can follow.
  bool close(bool says, Clock::time_point limit) noexcept;

 private:
  struct Letter {
    Note note;
    std::uint64_t id = 0, transfer = 0;
  };
  struct Mail {
    std::vector<Note> inbox;
    std::list<Letter> letters;
    Mail* next = nullptr;
  };

  void listen(std::size_t peer) noexcept;
  Status heard(const carrier::Completion& completion, Reader* reader) noexcept;
  Status hear(Reader* reader) noexcept;
  bool is_open() const noexcept;
  void withdraw() noexcept;

  const int rank_;
  std::vector<char> lost_, closed_;
  std::unique_ptr<Mail> mail_;
  std::list<Letter> spare_letters_;
  std::uint64_t numbers_ = 0;
  std::unique_ptr<carrier::Carrier> carrier_;
};

}  // namespace stretto::backend
