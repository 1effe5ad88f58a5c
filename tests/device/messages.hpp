// Properties of all DeviceMessages, between ranks with an emulated device each.
#pragma once

#include <array>
#include <cstdio>
#include <memory>
#include <vector>

#include "carrier/device_messages.hpp"
#include "devices.hpp"

namespace stretto::tests {

inline std::vector<unsigned char> bytes_of(int rank, std::size_t number, std::size_t n) {
  std::vector<unsigned char> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<unsigned char>(rank * 31 + static_cast<int>(number * 7 + i));
  return v;
}

// Each rank sends to the next, under two tags, as one group or message by message. Returns the number of errors.
inline int pass_around(carrier::DeviceMessages& messages, int rank, int ranks, bool together) {
  constexpr std::array<std::size_t, 7> lengths = {1, 63, 64, 65, 4096, 100'000, 3};
  const int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks;
  std::vector<std::unique_ptr<DeviceVector<unsigned char>>> sent, got;
  std::vector<carrier::DeviceTransfer> group;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    sent.push_back(std::make_unique<DeviceVector<unsigned char>>(0, bytes_of(rank, i, lengths[i])));
    got.push_back(std::make_unique<DeviceVector<unsigned char>>(0, std::vector<unsigned char>(lengths[i])));
    group.push_back({next, true, 5 + i % 2, sent.back()->data(), lengths[i], i});
    group.push_back({last, false, 5 + i % 2, got.back()->data(), lengths[i], 100 + i});
  }
  int wrong = 0;
  for (std::size_t i = 0; i < group.size(); i += together ? group.size() : 1) {
    const std::span<const carrier::DeviceTransfer> part(&group[i], together ? group.size() : 1);
    if (messages.start(part) != Status::ok) ++wrong;
  }
  std::vector<int> ended(200);
  std::array<carrier::Completion, 3> done;
  for (std::size_t all = 0; all < group.size() && wrong == 0;) {
    std::size_t n = 0;
    if (messages.poll(done, &n) != Status::ok) ++wrong;
    for (std::size_t k = 0; k < n; ++k) {
      wrong += done[k].status != Status::ok || ++ended[done[k].id] != 1 || done[k].bytes != lengths[done[k].id % 100];
    }
    all += n;
  }
  if (wrong) std::fprintf(stderr, "rank %d: %s\n", rank, message());
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (got[i]->read() == bytes_of(last, i, lengths[i])) continue;
    std::fprintf(stderr, "rank %d: message %zu of %zu bytes came wrong\n", rank, i, lengths[i]);
    ++wrong;
  }
  return wrong;
}

inline int pass_around(carrier::DeviceMessages& messages, int rank, int ranks) {
  emulation().reset(static_cast<std::uint64_t>(rank) + 1);
  int wrong = pass_around(messages, rank, ranks, true) + pass_around(messages, rank, ranks, false);
  if (emulation().loans() == 0 || emulation().races() != 0) {
    std::fprintf(stderr, "rank %d: %ld messages of a device; %s\n", rank, emulation().loans(),
                 emulation().first_race());
    ++wrong;
  }
  return wrong;
}

}  // namespace stretto::tests
