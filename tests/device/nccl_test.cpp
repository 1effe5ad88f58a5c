// Messages and collectives over an emulated NCCL and emulated devices; ranks are threads. Results equal the host's bit
// for bit. Errors of NCCL, and ranks that never join, end in a status.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <string>
#include <thread>

#include "collectives.hpp"
#include "emulated/emulated_nccl.hpp"
#include "schedule/registry.hpp"
#include "stretto/stretto_nonblocking.h"
#include "stretto/stretto_persistent.h"

namespace stretto::tests {
namespace {

const device::NcclEmulation& nccl() {
  static const device::NcclEmulation* const found = [] {
    void* library = dlopen(std::getenv("STRETTO_NCCL"), RTLD_NOW | RTLD_LOCAL);
    void* symbol = library ? dlsym(library, device::kNcclEmulationSymbol) : nullptr;
    if (!symbol) throw std::runtime_error("no emulated NCCL");
    return reinterpret_cast<const device::NcclEmulation* (*)()>(symbol)();
  }();
  return *found;
}

void begin(std::uint64_t seed) {
  emulation().reset(seed);
  nccl().reset();
}

void expect_order() {
  EXPECT_EQ(emulation().races(), 0) << emulation().first_race();
  EXPECT_EQ(nccl().open(), 0);
}

// Messages use NCCL if all ranks' vectors are on devices, else none do.
void expect_as_on_host(What w, std::size_t n, int ranks, const stretto_options& options) {
  SCOPED_TRACE(testing::Message() << "collective " << int(w) << " of " << n << " on " << ranks << " ranks, "
                                  << (options.schedule ? options.schedule : "any schedule") << ", payload "
                                  << int(options.payload));
  begin(static_cast<std::uint64_t>(ranks));
  const stretto_options o = timed(options);
  const Results expected = results(w, n, ranks, o, [](int) { return Way::host; });
  EXPECT_EQ(results(w, n, ranks, o, [](int) { return Way::on_stream; }), expected);
  const long groups = nccl().groups();
  EXPECT_EQ(groups > 0, ranks > 1);
  if (ranks > 1) {
    EXPECT_EQ(results(w, n, ranks, o, [](int r) { return r % 2 ? Way::host : Way::on_stream; }), expected);
    EXPECT_EQ(nccl().groups(), groups);
  }
  expect_order();
}

std::string default_of(What w) {
  using schedule::Collective;
  constexpr Collective of[] = {Collective::allreduce, Collective::reduce, Collective::reduce_scatter,
                               Collective::allgather, Collective::bcast,  Collective::alltoall};
  return std::string(schedule::default_algorithm(of[static_cast<int>(w)]).name);
}

stretto_options forced(stretto_options o, const std::string& schedule) {
  o.schedule = schedule.c_str();
  o.segment = 4096;
  return o;
}

TEST(DeviceNccl, ExactCollectivesGiveTheHostsBits) {
  for (const What w : kAll) {
    const std::string schedule = default_of(w);
    for (int ranks = 1; ranks <= 5; ++ranks) expect_as_on_host(w, 3000, ranks, forced(defaults(), schedule));
  }
}

TEST(DeviceNccl, CollectivesWithinABoundGiveTheHostsBits) {
  for (const What w : kAll) {
    const std::string schedule = default_of(w);
    for (int ranks = 1; ranks <= 5; ++ranks) {
      stretto_options o = forced(bounded(1e-3), schedule);
      o.payload = w < What::allgather ? STRETTO_PAYLOAD_FUSED : STRETTO_PAYLOAD_RECOMPRESS;
      expect_as_on_host(w, 3000, ranks, o);
    }
  }
}

TEST(DeviceNccl, EverySumOfEverySchedule) {
  for (const schedule::Algorithm& a : schedule::algorithms()) {
    if (a.collective != schedule::Collective::allreduce || a.ranks_differ) continue;
    const std::string schedule(a.name);
    for (const stretto_payload p : {STRETTO_PAYLOAD_RAW, STRETTO_PAYLOAD_FUSED, STRETTO_PAYLOAD_HOMOMORPHIC}) {
      stretto_options o = forced(p == STRETTO_PAYLOAD_RAW ? defaults() : bounded(1e-3), schedule);
      o.payload = p;
      expect_as_on_host(What::allreduce, 4000, p == STRETTO_PAYLOAD_FUSED ? 5 : 3, o);
    }
  }
}

TEST(DeviceNccl, SeveralStartedCollectivesKeepOneOrder) {
  const std::size_t n = 5000;
  stretto_options o = timed(bounded(1e-3));
  o.payload = STRETTO_PAYLOAD_FUSED;
  begin(7);
  const Results expected = results(What::allreduce, n, 3, o, [](int) { return Way::host; });
  on_ranks(3, [&](stretto_comm comm, int rank, int) {
    const DeviceVector<float> from(rank, api_test::wave(rank, n)), a(rank, n), b(rank, n), c(rank, n);
    const DeviceVector<float>* const to[] = {&a, &b, &c};
    stretto_request requests[3];
    for (int i = 0; i < 3; ++i)
      ASSERT_STRETTO_OK(
          stretto_iallreduce(from.data(), to[i]->data(), n, STRETTO_F32, STRETTO_SUM, comm, &o, &requests[i]));
    // Each rank waits in its own order.
    for (int i = 0; i < 3; ++i) ASSERT_STRETTO_OK(stretto_wait(requests[(i + rank) % 3]));
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(to[i]->read(), expected[static_cast<std::size_t>(rank)]);
      ASSERT_STRETTO_OK(stretto_request_free(&requests[i]));
    }
  });
  EXPECT_GT(nccl().groups(), 0);
  expect_order();
}

// Small integers, whose sums are exact in any order of NCCL.
std::vector<float> counts(int rank, std::size_t n) { return api_test::samples<float>(rank, n); }

Results of_library(What w, std::size_t n, int ranks, const stretto_options& o, bool on_device) {
  Results found(static_cast<std::size_t>(ranks));
  const int root = ranks / 2;
  on_ranks(ranks, [&](stretto_comm comm, int rank, int p) {
    auto in = counts(rank, in_length(w, n, p));
    std::vector<float> out(out_length(w, n, p));
    if (w == What::bcast && rank == root) out = in;
    auto& result = found[static_cast<std::size_t>(rank)];
    if (on_device) {
      void* stream = nullptr;
      static_cast<void>(plugin().use_device(rank));
      static_cast<void>(plugin().create_stream(&stream));
      const DeviceVector<float> from(rank, in), to(rank, out);
      from.write_late(in, stream);
      ASSERT_STRETTO_OK(call_on_stream(w, from.data(), to.data(), n, root, comm, &o, stream));
      result = to.read(stream);
      from.write(in);
      to.write(out);
      ASSERT_STRETTO_OK(call(w, from.data(), to.data(), n, root, comm, &o));
      EXPECT_EQ(to.read(), result);
      static_cast<void>(plugin().destroy_stream(stream));
    } else {
      ASSERT_STRETTO_OK(call(w, in.data(), out.data(), n, root, comm, &o));
      result = out;
    }
    if (w == What::reduce && rank != root) result.clear();
  });
  return found;
}

TEST(DeviceNccl, OwnCollectivesAreNativeAndChosenForExactValues) {
  for (const What w : {What::allreduce, What::reduce, What::reduce_scatter, What::allgather, What::bcast}) {
    for (int ranks = 2; ranks <= 5; ++ranks) {
      SCOPED_TRACE(testing::Message() << "collective " << int(w) << " on " << ranks << " ranks");
      begin(static_cast<std::uint64_t>(ranks));
      stretto_options o = timed(defaults());
      const Results expected = of_library(w, 3000, ranks, o, false);
      for (const char* schedule : {"native", static_cast<const char*>(nullptr)}) {
        o.schedule = schedule;
        nccl().reset();
        EXPECT_EQ(of_library(w, 3000, ranks, o, true), expected);
        EXPECT_EQ(nccl().collectives(), 2);
        EXPECT_EQ(nccl().groups(), 0);
      }
      expect_order();
    }
  }
}

stretto_status start_call(What w, const float* in, float* out, std::size_t n, int root, stretto_comm comm,
                          const stretto_options* o, stretto_request* r) {
  switch (w) {
    case What::allreduce: return stretto_iallreduce(in, out, n, STRETTO_F32, STRETTO_SUM, comm, o, r);
    case What::reduce: return stretto_ireduce(in, out, n, STRETTO_F32, STRETTO_SUM, root, comm, o, r);
    case What::reduce_scatter: return stretto_ireduce_scatter_block(in, out, n, STRETTO_F32, STRETTO_SUM, comm, o, r);
    case What::allgather: return stretto_iallgather(in, out, n, STRETTO_F32, comm, o, r);
    case What::bcast: return stretto_ibcast(out, n, STRETTO_F32, root, comm, o, r);
    case What::alltoall: return stretto_ialltoall(in, out, n, STRETTO_F32, comm, o, r);
    case What::scatter: return stretto_iscatter(in, out, n, STRETTO_F32, root, comm, o, r);
    case What::gather: return stretto_igather(in, out, n, STRETTO_F32, root, comm, o, r);
    case What::scan: return stretto_iscan(in, out, n, STRETTO_F32, STRETTO_SUM, comm, o, r);
    case What::exscan: return stretto_iexscan(in, out, n, STRETTO_F32, STRETTO_SUM, comm, o, r);
  }
  return STRETTO_INTERNAL;
}

TEST(DeviceNccl, StartedCallsAreItsOwnCollectives) {
  const std::size_t n = 3000;
  for (const What w : {What::allreduce, What::reduce, What::reduce_scatter, What::allgather, What::bcast}) {
    for (const int ranks : {2, 5}) {
      SCOPED_TRACE(testing::Message() << "collective " << int(w) << " on " << ranks << " ranks");
      begin(static_cast<std::uint64_t>(ranks));
      const stretto_options plain = timed(defaults());
      const Results expected = of_library(w, n, ranks, plain, false);
      on_ranks(ranks, [&](stretto_comm comm, int rank, int p) {
        const int root = p / 2;
        const auto in = counts(rank, in_length(w, n, p));
        std::vector<float> out(out_length(w, n, p));
        if (w == What::bcast && rank == root) out = in;
        const DeviceVector<float> from(rank, in), to(rank, out);
        for (const char* schedule : {"native", static_cast<const char*>(nullptr)}) {
          stretto_options o = plain;
          o.schedule = schedule;
          stretto_report report = STRETTO_REPORT_INIT;
          o.report = &report;
          to.write(out);
          stretto_request request = nullptr;
          ASSERT_STRETTO_OK(start_call(w, from.data(), to.data(), n, root, comm, &o, &request));
          ASSERT_STRETTO_OK(stretto_wait(request));
          EXPECT_STREQ(report.algorithm, "native");
          if (w != What::reduce || rank == root) {
            EXPECT_EQ(to.read(), expected[static_cast<std::size_t>(rank)]);
          }
          ASSERT_STRETTO_OK(stretto_request_free(&request));
        }
      });
      EXPECT_EQ(nccl().collectives(), 2);
      EXPECT_EQ(nccl().groups(), 0);
      expect_order();
    }
  }
}

TEST(DeviceNccl, APersistentCallIsItsOwnCollectiveAtEachStart) {
  const std::size_t n = 1000;
  begin(3);
  on_ranks(3, [&](stretto_comm comm, int rank, int) {
    stretto_options o = timed(defaults());
    o.schedule = "native";
    const DeviceVector<float> from(rank, n), to(rank, n);
    stretto_request request = nullptr;
    ASSERT_STRETTO_OK(stretto_allreduce_init(from.data(), to.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o, &request));
    for (int step = 1; step <= 4; ++step) {
      from.write(std::vector<float>(n, static_cast<float>(step * (rank + 1))));
      ASSERT_STRETTO_OK(stretto_start(request));
      ASSERT_STRETTO_OK(stretto_wait(request));
      EXPECT_EQ(to.read(), std::vector<float>(n, static_cast<float>(6 * step)));
    }
    ASSERT_STRETTO_OK(stretto_request_free(&request));
  });
  EXPECT_EQ(nccl().collectives(), 4);
  EXPECT_EQ(nccl().groups(), 0);
  expect_order();
}

// Messages come before and after. Ranks start collectives at different times, and wait in different orders.
TEST(DeviceNccl, StartedNativeAndScheduledCollectivesKeepOneOrder) {
  const std::size_t n = 10000;
  stretto_options own = timed(defaults()), ring = timed(bounded(1e-3));
  own.schedule = "native";
  ring.schedule = "ring";
  ring.payload = STRETTO_PAYLOAD_FUSED;
  ring.segment = 4096;
  begin(7);
  const Results sums = results(What::allreduce, n, 3, ring, [](int) { return Way::host; });
  const Results exact = of_library(What::allreduce, n, 3, timed(defaults()), false);
  for (int seed = 0; seed < 8; ++seed) {
    begin(static_cast<std::uint64_t>(seed));
    on_ranks(3, [&](stretto_comm comm, int rank, int) {
      const DeviceVector<float> wave(rank, api_test::wave(rank, n)), whole(rank, counts(rank, n));
      const DeviceVector<float> a(rank, n), b(rank, n), c(rank, n), d(rank, n), e(rank, n);
      const DeviceVector<float>* const to[] = {&a, &b, &c, &d, &e};
      const bool is_own[] = {false, true, true, false, true};
      stretto_request requests[5];
      for (int i = 0; i < 5; ++i) {
        ASSERT_STRETTO_OK(stretto_iallreduce(is_own[i] ? whole.data() : wave.data(), to[i]->data(), n, STRETTO_F32,
                                             STRETTO_SUM, comm, is_own[i] ? &own : &ring, &requests[i]));
        int done = 0;
        for (int k = 0; k < (seed * (rank + 1) * 11 + i * 7) % 60; ++k) {
          ASSERT_STRETTO_OK(stretto_test(requests[0], &done));
        }
      }
      for (int i = 0; i < 5; ++i) ASSERT_STRETTO_OK(stretto_wait(requests[(2 * i + rank) % 5]));
      for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(to[i]->read(), (is_own[i] ? exact : sums)[static_cast<std::size_t>(rank)]) << i;
        ASSERT_STRETTO_OK(stretto_request_free(&requests[i]));
      }
    });
    EXPECT_GT(nccl().groups(), 0);
    EXPECT_EQ(nccl().collectives(), 3);
    expect_order();
  }
}

// NCCL may need all ranks' calls before a collective is enqueued. Starts and tests do not wait for them.
TEST(DeviceNccl, StartedCollectivesAwaitOtherRanksOnlyInTheirWait) {
  const std::size_t n = 1000;
  begin(5);
  std::atomic<int> started = 0, tested = 0;
  on_ranks(2, [&](stretto_comm comm, int rank, int) {
    const DeviceVector<float> from(rank, std::vector<float>(n, 1)), to(rank, n);
    stretto_options o = timed(defaults());
    o.schedule = "ring";
    ASSERT_STRETTO_OK(stretto_allreduce(from.data(), to.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o));
    o.schedule = "native";
    for (int i = 0; i < 3; ++i) {  // NCCL waits every third time
      while (rank == 0 && started <= i) std::this_thread::yield();
      stretto_request request = nullptr;
      ASSERT_STRETTO_OK(stretto_iallreduce(from.data(), to.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o, &request));
      int done = 0;
      for (int k = 0; k < 100; ++k) {  // rank 1's part of the agreement, and with it rank 0's collective
        ASSERT_STRETTO_OK(stretto_test(request, &done));
      }
      ++(rank == 1 ? started : tested);
      while (tested <= i) std::this_thread::yield();
      ASSERT_STRETTO_OK(stretto_wait(request));
      EXPECT_EQ(to.read(), std::vector<float>(n, 2));
      ASSERT_STRETTO_OK(stretto_request_free(&request));
    }
  });
  expect_order();
}

TEST(DeviceNccl, AScatteredSumMayBeInPlace) {
  begin(1);
  const std::size_t n = 1000;
  on_ranks(3, [&](stretto_comm comm, int rank, int p) {
    stretto_options o = timed(defaults());
    o.schedule = "native";
    const auto in = counts(rank, n * static_cast<std::size_t>(p));
    const DeviceVector<float> all(rank, in);
    ASSERT_STRETTO_OK(
        stretto_reduce_scatter_block(STRETTO_IN_PLACE, all.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o));
    const auto sum = all.read();
    for (std::size_t i = 0; i < n; ++i) {
      float expected = 0;
      for (int r = 0; r < p; ++r)
        expected += static_cast<float>(api_test::sample(r, n * static_cast<std::size_t>(rank) + i));
      ASSERT_EQ(sum[i], expected) << i;
    }
  });
  expect_order();
}

// Every rank makes the same call, and gets the same refusal.
void refused(const stretto_options& o, const std::string& text, stretto_type type = STRETTO_F32,
             stretto_op op = STRETTO_SUM, int host_rank = -1) {
  begin(1);
  on_ranks(3, [&](stretto_comm comm, int rank, int) {
    const std::size_t n = 1000;
    const DeviceVector<double> from(rank, n), to(rank, n);
    std::vector<double> host(2 * n);
    const bool here = rank == host_rank;
    EXPECT_EQ(stretto_allreduce(here ? static_cast<void*>(host.data()) : from.data(),
                                here ? static_cast<void*>(host.data() + n) : to.data(), n, type, op, comm, &o),
              STRETTO_UNSUPPORTED);
    EXPECT_NE(std::string(stretto_message()).find(text), std::string::npos) << stretto_message();
  });
}

TEST(DeviceNccl, WhatItHasNoCollectiveForIsRefusedOnEveryRank) {
  stretto_options o = timed(defaults());
  o.schedule = "native";
  refused(o, "NCCL 2.28.9 has no allreduce of i16 by sum", STRETTO_I16);
  refused(o, "NCCL 2.28.9 has no allreduce of i32 by bxor", STRETTO_I32, STRETTO_BXOR);
  o.reproducible = 1;
  refused(o, "NCCL 2.28.9 has no allreduce of f32 by sum");
}

TEST(DeviceNccl, ItMayBeForbiddenOrAskedFor) {
  ASSERT_EQ(setenv("STRETTO_DEVICE_CARRIER", "host", 1), 0);
  stretto_options o = timed(bounded(1e-3));
  o.payload = STRETTO_PAYLOAD_FUSED;
  o.schedule = "ring";
  begin(1);
  const Results expected = results(What::allreduce, 3000, 3, o, [](int) { return Way::host; });
  EXPECT_EQ(results(What::allreduce, 3000, 3, o, [](int) { return Way::on_stream; }), expected);
  EXPECT_EQ(nccl().groups(), 0);
  o = timed(defaults());
  o.schedule = "native";
  refused(o, "needs NCCL on 2 ranks or more: another way is asked for");
  ASSERT_EQ(setenv("STRETTO_DEVICE_CARRIER", "transport", 1), 0);
  refused(timed(defaults()), "transport cannot be had on all ranks");
  ASSERT_EQ(setenv("STRETTO_DEVICE_CARRIER", "pigeons", 1), 0);
  refused(timed(defaults()), "STRETTO_DEVICE_CARRIER is 'pigeons' here");
  ASSERT_EQ(unsetenv("STRETTO_DEVICE_CARRIER"), 0);
}

// NCCL refuses a second rank on a device: messages then use the host.
TEST(DeviceNccl, RanksOfOneDeviceGoThroughTheHost) {
  begin(1);
  stretto_options o = timed(bounded(1e-3));
  o.payload = STRETTO_PAYLOAD_FUSED;
  o.schedule = "ring";
  const std::size_t n = 3000;
  const Results expected = results(What::allreduce, n, 2, o, [](int) { return Way::host; });
  on_ranks(2, [&](stretto_comm comm, int rank, int) {
    const DeviceVector<float> from(0, api_test::wave(rank, n)), to(0, n);
    ASSERT_STRETTO_OK(stretto_allreduce(from.data(), to.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o));
    EXPECT_EQ(to.read(), expected[static_cast<std::size_t>(rank)]);
  });
  EXPECT_EQ(nccl().groups(), 0);
  expect_order();
}

// Statuses of all ranks after one rank's error in NCCL.
void all_end(const stretto_options& o, bool starts, stretto_status status, const std::string& text,
             const std::function<void()>& spoil) {
  begin(1);
  int named = 0;
  on_ranks(3, [&](stretto_comm comm, int rank, int) {
    const std::size_t n = 20000;
    const DeviceVector<float> from(rank, api_test::wave(rank, n)), to(rank, n);
    stretto_options first = timed(defaults());
    first.schedule = "ring";
    ASSERT_STRETTO_OK(stretto_allreduce(from.data(), to.data(), n, STRETTO_F32, STRETTO_SUM, comm, &first));
    const stretto_options plain = timed(defaults());
    ASSERT_STRETTO_OK(stretto_barrier(comm, &plain));
    if (rank == 0) spoil();
    ASSERT_STRETTO_OK(stretto_barrier(comm, &plain));
    stretto_request request = nullptr;
    if (starts) {
      ASSERT_STRETTO_OK(stretto_iallreduce(from.data(), to.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o, &request));
      EXPECT_EQ(stretto_wait(request), status) << stretto_message();
    } else {
      EXPECT_EQ(stretto_allreduce(from.data(), to.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o), status)
          << stretto_message();
    }
    {
      static std::mutex mutex;
      const std::lock_guard lock(mutex);
      named += std::string(stretto_message()).find(text) != std::string::npos;
    }
    if (starts) {
      ASSERT_STRETTO_OK(stretto_request_free(&request));
    }
  });
  EXPECT_GT(named, 0);
  EXPECT_EQ(nccl().open(), 0);
}

TEST(DeviceNccl, AnErrorOfNcclIsEveryRanks) {
  for (const bool starts : {false, true}) {
    for (const char* schedule : {"ring", "native"}) {
      SCOPED_TRACE(testing::Message() << schedule << (starts ? ", started" : ""));
      stretto_options o = timed(defaults());
      o.schedule = schedule;
      for (const long n : {0L, 2L}) {
        if (n > 0 && o.schedule == std::string("native")) continue;
        all_end(o, starts, STRETTO_INTERNAL, "an emulated network fails", [n] { nccl().fail(1, n); });
      }
    }
  }
}

TEST(DeviceNccl, ARankThatNeverSendsEndsInATimeout) {
  for (const char* schedule : {"ring", "native"}) {
    SCOPED_TRACE(schedule);
    stretto_options o = timed(defaults());
    o.schedule = schedule;
    o.timeout = 0.5;
    const bool own = o.schedule == std::string("native");
    all_end(o, false, STRETTO_TIMEOUT, own ? "NCCL 2.28.9: a collective is not complete after" : "",
            [] { nccl().mute(1, 0); });
    all_end(o, true, STRETTO_TIMEOUT, own ? "NCCL 2.28.9's own allreduce is not complete after" : "",
            [] { nccl().mute(1, 0); });
  }
}

TEST(DeviceNccl, OthersUseTheHostIfARankNeverJoinsNccl) {
  begin(1);
  nccl().stay_away(1);
  stretto_options o = timed(bounded(1e-3));
  o.payload = STRETTO_PAYLOAD_FUSED;
  o.schedule = "ring";
  const std::size_t n = 3000;
  const Results expected = results(What::allreduce, n, 3, o, [](int) { return Way::host; });
  on_ranks(3, [&](stretto_comm comm, int rank, int) {
    stretto_options brief = o;
    brief.timeout = 1;
    const DeviceVector<float> from(rank, api_test::wave(rank, n)), to(rank, n);
    ASSERT_STRETTO_OK(stretto_allreduce(from.data(), to.data(), n, STRETTO_F32, STRETTO_SUM, comm, &brief));
    EXPECT_EQ(to.read(), expected[static_cast<std::size_t>(rank)]);
  });
  EXPECT_EQ(nccl().open(), 0);
}

// Calls on a stream in capture.
void captured(const stretto_options& o, bool linked, const std::function<bool(int)>& captures, stretto_status status,
              const std::string& text) {
  begin(1);
  on_ranks(3, [&](stretto_comm comm, int rank, int) {
    const std::size_t n = 1000;
    static_cast<void>(plugin().use_device(rank));
    void* stream = nullptr;
    static_cast<void>(plugin().create_stream(&stream));
    const DeviceVector<float> from(rank, counts(rank, n)), to(rank, n);
    const auto sum = [&](const stretto_options& with) {
      return stretto_allreduce_on_stream(from.data(), to.data(), n, STRETTO_F32, STRETTO_SUM, comm, &with, stream);
    };
    const stretto_options first = timed(defaults());
    if (linked) {
      ASSERT_STRETTO_OK(sum(first));
    }
    if (captures(rank)) emulation().capture(stream, true);
    EXPECT_EQ(sum(o), status) << stretto_message();
    if (status != STRETTO_OK) {
      EXPECT_NE(std::string(stretto_message()).find(text), std::string::npos) << stretto_message();
    }
    EXPECT_EQ(emulation().captured(stream), status == STRETTO_OK ? 1 : 0);
    if (captures(rank)) emulation().capture(stream, false);
    ASSERT_STRETTO_OK(sum(first));  // all ranks know the outcome
    EXPECT_EQ(to.read(stream)[1], counts(0, 2)[1] + counts(1, 2)[1] + counts(2, 2)[1]);
    static_cast<void>(plugin().destroy_stream(stream));
  });
  expect_order();
}

TEST(DeviceNccl, AGraphHoldsItsOwnCollectives) {
  captured(
      timed(defaults()), true, [](int) { return true; }, STRETTO_OK, "");
  stretto_options o = timed(defaults());
  o.schedule = "native";
  captured(
      o, true, [](int) { return true; }, STRETTO_OK, "");
}

TEST(DeviceNccl, WhatNoGraphCanHoldIsRefusedOnEveryRank) {
  const auto all_do = [](int) { return true; };
  const auto one_does = [](int rank) { return rank == 1; };
  captured(timed(defaults()), false, one_does, STRETTO_UNSUPPORTED, "a communicator's first call with devices");
  captured(timed(defaults()), true, one_does, STRETTO_UNSUPPORTED,
           "the streams of 1 of 3 ranks are captured in a graph");
  captured(timed(bounded(1e-3)), true, all_do, STRETTO_UNSUPPORTED, "only exact values can be");
  stretto_options o = timed(defaults());
  o.schedule = "ring";
  captured(o, true, one_does, STRETTO_UNSUPPORTED, "schedule ring cannot be, only native");
  ASSERT_EQ(setenv("STRETTO_DEVICE_CARRIER", "host", 1), 0);
  captured(timed(defaults()), true, one_does, STRETTO_UNSUPPORTED, "messages cannot be, only NCCL's own collectives");
  ASSERT_EQ(unsetenv("STRETTO_DEVICE_CARRIER"), 0);
}

}  // namespace
}  // namespace stretto::tests
