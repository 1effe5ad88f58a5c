// Rendezvous of a communicator's ranks in a store: each learns the addresses of all others, and a number that only these
// ranks know.
//
// Every rank leaves its hello under its own number, with a random nonce. Rank 0 writes a session of the hellos that it
// found, under a fresh random number. A rank confirms a session that has its own nonce; once all have, rank 0 writes go.
// Keys of an earlier program have other nonces: a session over a stale hello is never confirmed, and rank 0 reads the
// hellos again. If the confirmed ranks differ in rank, size or stretto's version, all are refused with both values. Keys begin with the communicator's name, and are removed in the end.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "carrier/store.hpp"

namespace stretto::carrier {

struct Member {
  std::string host;
  long pid = 0;
  std::string address;  // as the rank gave it
};

struct Session {
  std::string name;                       // its keys begin so
  std::string id;                         // random; part of their names
  std::array<std::uint8_t, 16> secret{};  // random; known to who can read the store's values
  std::vector<Member> members;            // by rank
};

// Describes this rank: `rank` of `size`, its version of stretto, and its `address` for the others. `name` is the name of the
// communicator in the store, equal on all ranks and not used by two communicators at a time.
struct Newcomer {
  std::string name;
  int rank = 0, size = 1;
  std::string version;
  std::string address;
  std::string failure;  // why this rank cannot take part, which all are told; empty: it can
};

// Collective. timeout: ranks did not come within `seconds`, which are named on rank 0 and on those it can tell.
// incompatible: the ranks differ. unsupported: a rank cannot take part. invalid_argument: another process has this rank's number, or rank and size are none.
Status meet_in(Store& store, const Newcomer& me, double seconds, Session* session) noexcept;

// Removes what rank 0 left, once all ranks are known to have met. For rank 0 alone.
void clean_up(Store& store, const Session& session) noexcept;

}  // namespace stretto::carrier
