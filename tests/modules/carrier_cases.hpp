// The contract of carriers between processes, on any number of ranks: lengths around a chunk, empty messages,
// truncation, cancellation, alarms. Prints and counts failures.
#pragma once

#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "carrier/carrier.hpp"
#include "node/group/exchange.hpp"
#include "scarce.hpp"

namespace carrier_cases {

using stretto::Status;
using stretto::carrier::Carrier;
using stretto::carrier::Completion;

inline int failures = 0;

inline void expect(bool holds, const char* what, std::size_t detail = 0) {
  if (holds) return;
  ++failures;
  std::fprintf(stderr, "%s (%zu)\n", what, detail);
}

// The ends of `n` transfers, by id.
inline std::vector<Completion> ends(Carrier& c, std::size_t n) {
  std::vector<Completion> by_id(n);
  std::size_t got = 0;
  for (int tries = 0; got < n && tries < 100; ++tries) {
    Completion done[3];
    std::size_t k = 0;
    expect(c.wait_any(done, &k, 1.0) == Status::ok, "wait_any fails");
    for (std::size_t i = 0; i < k; ++i) by_id[done[i].id] = done[i];
    got += k;
  }
  expect(got == n, "transfers are missing", n - got);
  return by_id;
}

inline double processor_seconds() {
  rusage used{};
  getrusage(RUSAGE_THREAD, &used);
  const auto seconds = [](const timeval& t) { return double(t.tv_sec) + 1e-6 * double(t.tv_usec); };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// A rank that waits a second for a message takes little processor time, and the message ends the wait.
inline void sleep_in_waits(Carrier& c) {
  const int next = (c.rank() + 1) % c.size(), previous = (c.rank() + c.size() - 1) % c.size();
  int out = c.rank(), in = -1;
  expect(c.start_recv(previous, 20000, &in, sizeof in, 0) == Status::ok, "start_recv fails");
  const double before = processor_seconds();
  Completion done;
  std::size_t n = 0;
  expect(c.wait_any({&done, 1}, &n, 1.0) == Status::ok, "wait_any fails");
  const double took = processor_seconds() - before;
  expect(took < 0.2, "a rank that waits a second takes milliseconds of processor time", std::size_t(1e3 * took));
  expect(c.start_send(next, 20000, &out, sizeof out, 1) == Status::ok, "start_send fails");
  for (std::size_t got = n; got < 2; got += n)
    expect(c.wait_any({&done, 1}, &n, 60) == Status::ok && n == 1, "a message is missing");
  expect(in == previous, "a message was changed");
}

inline void barrier(Carrier& c) {
  char mine = 0;
  std::vector<char> all(static_cast<std::size_t>(c.size()));
  stretto::node::CarrierExchange exchange(c, 30000);
  expect(exchange.allgather(&mine, 1, all.data()) == Status::ok, "the ranks do not meet");
}

// Every rank sends to the next (itself, if alone) messages of many lengths at once, under tags in two orders.
inline void around(Carrier& c, std::size_t chunk) {
  const int next = (c.rank() + 1) % c.size(), previous = (c.rank() + c.size() - 1) % c.size();
  const std::size_t lengths[] = {0, 1, chunk - 1, chunk, chunk + 1, 2 * chunk, 3 * chunk - 1, 3 * chunk, 5 * chunk + 3};
  const std::size_t n = std::size(lengths);
  std::vector<std::vector<unsigned char>> out(n), in(n);
  for (std::size_t i = 0; i < n; ++i) {
    in[i].assign(6 * chunk, 0xEE);
    for (std::size_t k = 0; k < lengths[i]; ++k)
      out[i].push_back(static_cast<unsigned char>(k * 7 + i + static_cast<std::size_t>(c.rank())));
  }
  for (std::size_t i = 0; i < n; ++i)
    expect(c.start_recv(previous, n - 1 - i, in[n - 1 - i].data(), in[n - 1 - i].size(), n - 1 - i) == Status::ok,
           "start_recv fails");
  for (std::size_t i = 0; i < n; ++i)
    expect(c.start_send(next, i, out[i].data(), out[i].size(), n + i) == Status::ok, "start_send fails");
  const auto done = ends(c, 2 * n);
  for (std::size_t i = 0; i < n; ++i) {
    expect(done[i].status == Status::ok && done[n + i].status == Status::ok, "a transfer failed", lengths[i]);
    expect(done[i].bytes == lengths[i], "a length is wrong", done[i].bytes);
    bool same = true;
    for (std::size_t k = 0; k < lengths[i]; ++k)
      same &= in[i][k] == static_cast<unsigned char>(k * 7 + i + static_cast<std::size_t>(previous));
    same &= in[i][lengths[i]] == 0xEE;
    expect(same, "a message was changed", lengths[i]);
  }
}

// A message that fills its buffer, a whole number of chunks: the empty chunk at its end needs no room.
inline void exact_fit(Carrier& c, std::size_t chunk) {
  const int next = (c.rank() + 1) % c.size(), previous = (c.rank() + c.size() - 1) % c.size();
  std::vector<unsigned char> out(2 * chunk, 5), in(2 * chunk);
  expect(c.start_recv(previous, 0, in.data(), in.size(), 0) == Status::ok, "start_recv fails");
  expect(c.start_send(next, 0, out.data(), out.size(), 1) == Status::ok, "start_send fails");
  const auto done = ends(c, 2);
  expect(done[0].bytes == out.size() && in == out, "an exact fit is wrong", done[0].bytes);
}

inline void too_long(Carrier& c, std::size_t bytes, std::size_t room) {
  const int next = (c.rank() + 1) % c.size(), previous = (c.rank() + c.size() - 1) % c.size();
  std::vector<unsigned char> out(bytes, 1), in(bytes);
  expect(c.start_recv(previous, 0, in.data(), room, 0) == Status::ok, "start_recv fails");
  expect(c.start_send(next, 0, out.data(), bytes, 1) == Status::ok, "start_send fails");
  const auto done = ends(c, 2);
  expect(done[0].status == Status::incompatible, "a message that does not fit is not reported", bytes);
  expect(in[room] == 0, "memory beyond the room was written", room);
}

// Messages of one tag and length match receives in the order of starting. Messages of another length, perhaps on
// another connection, are sent when every rank has received these.
inline void of_one_tag(Carrier& c, std::size_t bytes) {
  const int next = (c.rank() + 1) % c.size(), previous = (c.rank() + c.size() - 1) % c.size();
  constexpr std::size_t n = 5;
  std::vector<std::vector<unsigned char>> out(n), in(n, std::vector<unsigned char>(bytes));
  for (std::size_t i = 0; i < n; ++i) {
    out[i].assign(bytes, static_cast<unsigned char>(i + 1));
    expect(c.start_send(next, 9, out[i].data(), bytes, n + i) == Status::ok, "start_send fails");
  }
  for (std::size_t i = 0; i < n; ++i)
    expect(c.start_recv(previous, 9, in[i].data(), bytes, i) == Status::ok, "start_recv fails");
  const auto done = ends(c, 2 * n);
  for (std::size_t i = 0; i < n; ++i)
    expect(done[i].bytes == bytes && in[i] == out[i], "messages of one tag change places", i);
  barrier(c);
}

inline void withdraw(Carrier& c) {
  const int next = (c.rank() + 1) % c.size(), previous = (c.rank() + c.size() - 1) % c.size();
  int x = -1, y = c.rank();
  expect(c.start_recv(previous, 3, &x, sizeof x, 0) == Status::ok, "start_recv fails");
  expect(c.cancel(0), "a receive that nobody sends to cannot be withdrawn");
  expect(c.start_recv(previous, 4, &x, sizeof x, 0) == Status::ok, "start_recv fails");
  expect(c.start_send(next, 4, &y, sizeof y, 1) == Status::ok, "start_send fails");
  ends(c, 2);
  expect(x == previous, "after a withdrawal a message is wrong");
}

// A message that was given up before anybody took it: that needs no memory, and it arrives.
inline void give_up(Carrier& c) {
  const int next = (c.rank() + 1) % c.size(), previous = (c.rank() + c.size() - 1) % c.size();
  static std::vector<int> out(std::size_t{1} << 20), in(out.size());
  std::fill(out.begin(), out.end(), c.rank());
  expect(c.start_send(next, 5, out.data(), out.size() * sizeof(int), 1) == Status::ok, "start_send fails");
  {
    const stretto::tests::Scarce scarce(0);
    expect(!c.cancel(1) || c.size() == 1, "a message that nobody takes has gone");
    expect(!scarce.struck(), "giving a message up needs memory");
  }
  barrier(c);
  expect(c.start_recv(previous, 5, in.data(), in.size() * sizeof(int), 0) == Status::ok, "start_recv fails");
  ends(c, 1);
  expect(in.front() == previous && in.back() == previous, "a message that was given up is wrong");
  barrier(c);
}

// The last rank raises two, and would raise more; every other hears these.
inline void alarms(Carrier& c) {
  using stretto::carrier::Alarm;
  const int last = c.size() - 1;
  Alarm alarm{c.rank(), Status::out_of_memory, 7, -1, {"why"}};
  if (c.rank() == last) {
    c.raise(alarm);
    for (alarm.from = 3; alarm.from > 0; --alarm.from) c.raise(alarm);
  } else {
    int tries = 0;
    while (!c.hear(&alarm) && ++tries < 100000000) sched_yield();
    expect(alarm.rank == last && alarm.status == Status::out_of_memory && alarm.from == 7, "an alarm is wrong");
    expect(alarm.text[0] == 'w' && alarm.text[3] == 0, "the text of an alarm is wrong");
    for (tries = 0; !c.hear(&alarm) && tries < 100000000; ++tries) sched_yield();
    expect(alarm.from == 3, "a second alarm is wrong");
  }
  barrier(c);
  expect(!c.hear(&alarm), "an alarm is heard again");
}

}  // namespace carrier_cases
