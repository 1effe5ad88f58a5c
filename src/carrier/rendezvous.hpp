// Ranks meet in a store (docs/carriers.md, "How they meet"). If confirmed ranks differ in rank, size or version, all
// are refused with both values. Keys begin with the communicator's name, and are removed in the end.
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
  std::string address;
};

struct Session {
  std::string name;
  std::string id;                         // random; in keys' names
  std::array<std::uint8_t, 16> secret{};  // random; known to readers of the store's values
  std::vector<Member> members;
};

// `name`: the communicator's in the store, equal on all ranks, and unique at a time.
struct Participant {
  std::string name;
  int rank = 0, size = 1;
  std::string version;
  std::string address;
  std::string failure;  // why this rank cannot take part; empty: it can
};

// Collective. timeout: ranks were missing after `seconds`; rank 0 names them. incompatible: the ranks differ.
// unsupported: a rank cannot take part. invalid_argument: rank or size is invalid, or another process has this number.
Status meet_in(Store& store, const Participant& me, double seconds, Session* session) noexcept;

// For rank 0, once all ranks have met.
void clean_up(Store& store, const Session& session) noexcept;

}  // namespace stretto::carrier
