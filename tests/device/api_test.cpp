// Collectives of device memory through the C API, over threads on emulated devices. Results equal the host's bit for
// bit. Ranks with host and device memory take part in one call. All ranks hear of one rank's error.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <string>

#include "collectives.hpp"
#include "stretto/stretto_cuda_memory.h"
#include "stretto/stretto_nonblocking.h"
#include "stretto/stretto_persistent.h"

namespace stretto::tests {
namespace {

void expect_as_on_host(What w, std::size_t n, int ranks, const stretto_options& options) {
  SCOPED_TRACE(testing::Message() << "collective " << int(w) << " of " << n << " on " << ranks << " ranks");
  emulation().reset(static_cast<std::uint64_t>(ranks));
  const stretto_options o = timed(options);
  const Results expected = results(w, n, ranks, o, [](int) { return Way::host; });
  EXPECT_EQ(results(w, n, ranks, o, [](int) { return Way::on_stream; }), expected);
  EXPECT_EQ(results(w, n, ranks, o, [](int) { return Way::ordinary; }), expected);
  EXPECT_EQ(results(w, n, ranks, o, [](int r) { return r % 2 ? Way::host : Way::on_stream; }), expected);
  EXPECT_EQ(emulation().races(), 0) << emulation().first_race();
}

// Sums in rank order; else the model may choose another schedule for a device than for the host.
stretto_options exact() {
  stretto_options o = defaults();
  o.reproducible = 1;
  return o;
}

TEST(DeviceApi, ExactCollectivesGiveTheHostsBits) {
  for (const What w : kAll)
    for (const int ranks : ranks_to_nine()) expect_as_on_host(w, 3000, ranks, exact());
}

TEST(DeviceApi, ScatterAndGatherGiveTheHostsBits) {
  for (const What w : kRooted)
    for (const int ranks : {1, 2, 3, 5}) {
      expect_as_on_host(w, 3000, ranks, exact());
      stretto_options o = bounded(1e-3);
      o.payload = STRETTO_PAYLOAD_RECOMPRESS;
      expect_as_on_host(w, 3000, ranks, o);
    }
}

TEST(DeviceApi, PrefixSumsGiveTheHostsBitsBySchedule) {
  for (const What w : kPrefixes)
    for (const char* schedule : {"chain", "recursive_doubling"})
      for (const int ranks : {1, 2, 3, 5}) {
        stretto_options o = defaults();
        o.schedule = schedule;
        expect_as_on_host(w, 3000, ranks, o);
      }
}

TEST(DeviceApi, OptionsOfTheHostsStreamsAloneAreRefusedOnAllRanks) {
  emulation().reset(4);
  on_ranks(2, [&](stretto_comm comm, int rank, int) {
    const std::size_t n = 4000;
    const DeviceVector<float> from(rank, api_test::wave(rank, n)), to(rank, n);
    static_cast<void>(plugin().use_device(rank));
    const auto refused = [&](const stretto_options& o, const char* words) {
      EXPECT_EQ(stretto_allreduce(from.data(), to.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o), STRETTO_UNSUPPORTED);
      EXPECT_NE(std::string(stretto_message()).find(words), std::string::npos) << stretto_message();
    };
    const stretto_part parts[] = {{1000, 1e-2}, {3000, 1e-3}};
    stretto_options o = timed(bounded(1e-2));
    o.payload = STRETTO_PAYLOAD_FUSED;
    o.parts = parts;
    o.part_count = 2;
    refused(o, "options.parts with memory of a device");
    o.parts = nullptr;
    o.part_count = 0;
    o.raw_below = 1000;
    refused(o, "raw_below 1000 is not offered in memory of a device");
    o.raw_below = 0;
    ASSERT_STRETTO_OK(stretto_allreduce(from.data(), to.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o));
  });
}

TEST(DeviceApi, AWaitForAStreamWaitsForItsWork) {
  emulation().reset(4);
  on_ranks(2, [&](stretto_comm comm, int rank, int) {
    const std::size_t n = 4000;
    const auto in = api_test::wave(rank, n);
    int before = -1, device = -1;
    ASSERT_STRETTO_OK(stretto_cuda_use_device(rank, &before));
    stretto_memory kind{};
    void *stream = nullptr, *x = nullptr, *pinned = nullptr;
    check(plugin().create_stream(&stream));
    ASSERT_STRETTO_OK(stretto_cuda_allocate(STRETTO_MEMORY_DEVICE, n * sizeof(float), &x));
    ASSERT_STRETTO_OK(stretto_cuda_allocate(STRETTO_MEMORY_PINNED, n * sizeof(float), &pinned));
    ASSERT_STRETTO_OK(stretto_cuda_locate(x, &kind, &device));
    EXPECT_EQ(kind, STRETTO_MEMORY_DEVICE);
    EXPECT_EQ(device, rank);
    ASSERT_STRETTO_OK(stretto_cuda_locate(pinned, &kind, &device));
    EXPECT_EQ(kind, STRETTO_MEMORY_PINNED);
    EXPECT_EQ(device, -1);
    auto* const values = static_cast<float*>(pinned);
    std::copy(in.begin(), in.end(), values);
    ASSERT_STRETTO_OK(stretto_cuda_use_device(before, nullptr));  // works with any current device
    ASSERT_STRETTO_OK(stretto_cuda_copy(x, pinned, n * sizeof(float), stream));
    ASSERT_STRETTO_OK(stretto_cuda_wait(comm, stream));
    std::fill_n(values, n, 0.0f);
    ASSERT_STRETTO_OK(stretto_cuda_copy(pinned, x, n * sizeof(float), stream));
    ASSERT_STRETTO_OK(stretto_cuda_wait(nullptr, stream));
    EXPECT_EQ(std::vector<float>(values, values + n), in);
    emulation().capture(stream, true);
    EXPECT_EQ(stretto_cuda_wait(nullptr, stream), STRETTO_UNSUPPORTED);
    emulation().capture(stream, false);
    ASSERT_STRETTO_OK(stretto_cuda_use_device(rank, nullptr));
    ASSERT_STRETTO_OK(stretto_cuda_release(STRETTO_MEMORY_DEVICE, x));
    ASSERT_STRETTO_OK(stretto_cuda_release(STRETTO_MEMORY_PINNED, pinned));
    check(plugin().destroy_stream(stream));
  });
  EXPECT_EQ(emulation().races(), 0) << emulation().first_race();
}

TEST(DeviceApi, MemoryOfWrongKindsAndDevicesIsRefused) {
  void* p = nullptr;
  EXPECT_EQ(stretto_cuda_allocate(STRETTO_MEMORY_MANAGED, 8, &p), STRETTO_INVALID_ARGUMENT);
  EXPECT_EQ(stretto_cuda_release(STRETTO_MEMORY_HOST, &p), STRETTO_INVALID_ARGUMENT);
  EXPECT_EQ(stretto_cuda_use_device(99, nullptr), STRETTO_INVALID_ARGUMENT);
  EXPECT_NE(std::string(stretto_message()).find("device 99 is none of the 9 devices"), std::string::npos)
      << stretto_message();
  emulation().refuse_memory(0);
  EXPECT_EQ(stretto_cuda_allocate(STRETTO_MEMORY_DEVICE, 12345, &p), STRETTO_OUT_OF_MEMORY);
  EXPECT_NE(std::string(stretto_message()).find("12345 bytes"), std::string::npos) << stretto_message();
  emulation().refuse_memory(-1);
  EXPECT_EQ(stretto_cuda_copy(nullptr, &p, 8, nullptr), STRETTO_INVALID_ARGUMENT);
  EXPECT_EQ(stretto_cuda_wait(nullptr, &p), STRETTO_INTERNAL);  // no stream
}

TEST(DeviceApi, CollectivesWithinABoundGiveTheHostsBits) {
  for (const What w : kAll)
    for (const int ranks : ranks_to_nine()) {
      stretto_options o = bounded(1e-3);
      o.payload = w < What::allgather ? STRETTO_PAYLOAD_FUSED : STRETTO_PAYLOAD_RECOMPRESS;
      expect_as_on_host(w, 3000, ranks, o);
    }
}

TEST(DeviceApi, ARelativeBoundIsOfTheRangeOnTheDevice) {
  for (const int ranks : {1, 3, 5}) {
    stretto_options o = bounded(1e-3, STRETTO_BOUND_RELATIVE);
    o.payload = STRETTO_PAYLOAD_FUSED;
    expect_as_on_host(What::allreduce, 20000, ranks, o);
    o.ignore_above = 0.5;  // excludes larger values, like marks of missing data
    expect_as_on_host(What::allreduce, 20000, ranks, o);
  }
}

TEST(DeviceApi, MarksOfMissingDataAreLeftOutOfTheRangeOnTheDevice) {
  const std::size_t n = 20000;
  emulation().reset(1);
  std::vector<stretto_report> reports(6, STRETTO_REPORT_INIT);  // of ranks on the host, then on devices
  Results sums(6);
  on_ranks(3, [&](stretto_comm comm, int rank, int) {
    auto in = api_test::wave(rank, n);
    for (std::size_t i = static_cast<std::size_t>(rank); i < n && rank > 0; i += 7) in[i] = 1e20f;
    const DeviceVector<float> from(rank, in), to(rank, n);
    const auto sum = [&](const float* x, float* y, std::size_t at) {
      stretto_options o = timed(bounded(1e-3, STRETTO_BOUND_RELATIVE));
      o.schedule = "ring";
      o.payload = STRETTO_PAYLOAD_FUSED;
      o.report = &reports[at];
      ASSERT_STRETTO_OK(stretto_allreduce(x, y, n, STRETTO_F32, STRETTO_SUM, comm, &o));
    };
    const auto at = static_cast<std::size_t>(rank);
    sums[at].resize(n);
    sum(in.data(), sums[at].data(), at);
    sum(from.data(), to.data(), at + 3);
    sums[at + 3] = to.read();
  });
  for (std::size_t at = 0; at < 3; ++at) {
    const stretto_report &host = reports[at], &device = reports[at + 3];
    EXPECT_EQ(sums[at + 3], sums[at]);
    EXPECT_EQ(device.ignored, host.ignored);
    EXPECT_GT(device.ignored, 0u);
    EXPECT_EQ(device.eps, host.eps);
    EXPECT_EQ(device.range_lo, host.range_lo);
    EXPECT_EQ(device.range_hi, host.range_hi);
    EXPECT_EQ(device.ignored_hi, static_cast<double>(1e20f));
    EXPECT_EQ(emulation().launches(static_cast<int>(at), STRETTO_CUDA_RANGE), at == 0 ? 1 : 2);
  }
  EXPECT_EQ(emulation().races(), 0) << emulation().first_race();
}

stretto_options fused() {
  stretto_options o = bounded(1e-3);
  o.payload = STRETTO_PAYLOAD_FUSED;
  return o;
}

TEST(DeviceApi, StreamsAreDenseWhereTheProgramAsksForIt) {
  const std::size_t n = 20000;
  for (const stretto_coding coding : {STRETTO_CODING_AUTO, STRETTO_CODING_DENSE})
    for (const bool chosen : {false, true}) {  // by the model, else forced
      SCOPED_TRACE(testing::Message() << "coding " << coding << (chosen ? ", chosen" : ", forced"));
      stretto_options o = timed(fused());
      o.coding = coding;
      o.check = 1;
      if (chosen)
        o.payload = STRETTO_PAYLOAD_AUTO;
      else
        o.schedule = "ring";
      const Results expected = results(What::allreduce, n, 3, fused(), [](int) { return Way::host; });
      emulation().reset(1);
      on_ranks(3, [&](stretto_comm comm, int rank, int) {
        const DeviceVector<float> from(rank, api_test::wave(rank, n)), to(rank, n);
        stretto_report report = STRETTO_REPORT_INIT;
        stretto_options own = o;
        own.report = &report;
        ASSERT_STRETTO_OK(stretto_allreduce(from.data(), to.data(), n, STRETTO_F32, STRETTO_SUM, comm, &own));
        if (coding == STRETTO_CODING_AUTO && std::string(report.payload) == "raw") return;
        EXPECT_EQ(to.read(), expected[static_cast<std::size_t>(rank)]);
        EXPECT_EQ(report.coding, coding == STRETTO_CODING_DENSE ? STRETTO_CODING_DENSE : STRETTO_CODING_FIXED);
      });
      EXPECT_EQ(emulation().launches(1, STRETTO_CUDA_TO_DENSE) > 0, coding == STRETTO_CODING_DENSE);
      EXPECT_EQ(emulation().races(), 0) << emulation().first_race();
    }
}

TEST(DeviceApi, AStartedCollectiveTakesDeviceMemory) {
  const std::size_t n = 5000;
  const stretto_options o = timed(fused());
  const Results expected = results(What::allreduce, n, 3, o, [](int) { return Way::host; });
  on_ranks(3, [&](stretto_comm comm, int rank, int) {
    const DeviceVector<float> from(rank, api_test::wave(rank, n)), to(rank, n);
    stretto_request request = nullptr;
    ASSERT_STRETTO_OK(stretto_iallreduce(from.data(), to.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o, &request));
    ASSERT_STRETTO_OK(stretto_wait(request));
    EXPECT_EQ(to.read(), expected[static_cast<std::size_t>(rank)]);
    ASSERT_STRETTO_OK(stretto_request_free(&request));
  });
}

TEST(DeviceApi, StartedCollectivesAndAPersistentOneShareADevice) {
  const std::size_t n = 5000;
  const stretto_options o = timed(fused());
  emulation().reset(1);
  const Results expected = results(What::allreduce, n, 3, o, [](int) { return Way::host; });
  on_ranks(3, [&](stretto_comm comm, int rank, int) {
    const DeviceVector<float> from(rank, api_test::wave(rank, n)), a(rank, n), b(rank, n), c(rank, n);
    const auto& sum = expected[static_cast<std::size_t>(rank)];
    stretto_request first = nullptr, second = nullptr, again = nullptr;
    const auto start = [&](const DeviceVector<float>& to, stretto_request* request) {
      return stretto_iallreduce(from.data(), to.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o, request);
    };
    ASSERT_STRETTO_OK(start(a, &first));
    ASSERT_STRETTO_OK(start(b, &second));
    ASSERT_STRETTO_OK(stretto_wait(second));
    ASSERT_STRETTO_OK(stretto_wait(first));
    EXPECT_EQ(a.read(), sum);
    EXPECT_EQ(b.read(), sum);
    ASSERT_STRETTO_OK(stretto_allreduce_init(from.data(), c.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o, &again));
    for (int i = 0; i < 3; ++i) {
      c.write(std::vector<float>(n));
      ASSERT_STRETTO_OK(stretto_start(again));
      ASSERT_STRETTO_OK(stretto_wait(again));
      EXPECT_EQ(c.read(), sum);
    }
    for (stretto_request* r : {&first, &second, &again}) ASSERT_STRETTO_OK(stretto_request_free(r));
  });
  EXPECT_EQ(emulation().races(), 0) << emulation().first_race();
}

long launches() {
  long all = 0;
  for (int device = 0; device < 3; ++device)
    for (int op = STRETTO_CUDA_COMPRESS; op <= STRETTO_CUDA_TO_FIXED; ++op) all += emulation().launches(device, op);
  return all;
}

// Pinned host memory, which kernels also read: the place of a call shows the assumed kind of memory.
TEST(DeviceApi, AnAssumedMemoryKindOverridesCudasAnswer) {
  const std::size_t n = 5000;
  const stretto_options o = timed(fused());
  const Results expected = results(What::allreduce, n, 3, o, [](int) { return Way::host; });
  const auto run = [&](stretto_memory kind) {
    emulation().reset(1);
    EXPECT_EQ(stretto_cuda_assume_memory(kind), STRETTO_OK);
    on_ranks(3, [&](stretto_comm comm, int rank, int) {
      check(plugin().use_device(device_of(rank)));
      const auto give_back = [](float* p) { check(plugin().release(device::MemoryKind::pinned, p)); };
      const auto vector = [&] {
        void* p = nullptr;
        check(plugin().allocate(device::MemoryKind::pinned, n * sizeof(float), &p));
        return std::unique_ptr<float[], decltype(give_back)>(static_cast<float*>(p), give_back);
      };
      const auto from = vector(), to = vector();
      const auto wave = api_test::wave(rank, n);
      std::copy(wave.begin(), wave.end(), from.get());
      ASSERT_STRETTO_OK(stretto_allreduce(from.get(), to.get(), n, STRETTO_F32, STRETTO_SUM, comm, &o));
      EXPECT_EQ(std::vector<float>(to.get(), to.get() + n), expected[static_cast<std::size_t>(rank)]);
      void* stream = nullptr;
      check(plugin().create_stream(&stream));
      const stretto_status s =
          stretto_allreduce_on_stream(from.get(), to.get(), n, STRETTO_F32, STRETTO_SUM, comm, &o, stream);
      EXPECT_EQ(s, kind == STRETTO_MEMORY_DEVICE ? STRETTO_OK : STRETTO_INVALID_ARGUMENT) << stretto_message();
      for (int done = 0; done == 0;) ASSERT_STRETTO_OK(stretto_cuda_query(comm, &done));
      check(plugin().destroy_stream(stream));
    });
    EXPECT_EQ(emulation().races(), 0) << emulation().first_race();
    return launches();
  };
  EXPECT_EQ(run(STRETTO_MEMORY_DETECT), 0);
  EXPECT_EQ(run(STRETTO_MEMORY_HOST), 0);
  EXPECT_GT(run(STRETTO_MEMORY_DEVICE), 0);
  EXPECT_EQ(stretto_cuda_assume_memory(STRETTO_MEMORY_DETECT), STRETTO_OK);
  EXPECT_EQ(run(STRETTO_MEMORY_DETECT), 0);
}

// One rank's error is every rank's status; the messages name both sides.
void all_hear(const std::function<stretto_status(stretto_comm, int, const DeviceVector<float>&,
                                                 const DeviceVector<float>&, void*)>& faulty,
              stretto_status status, const std::string& text) {
  emulation().reset(1);
  on_ranks(3, [&](stretto_comm comm, int rank, int) {
    const std::size_t n = 2000;
    const stretto_options o = timed(exact());
    const DeviceVector<float> from(rank, api_test::wave(rank, n)), to(rank, n);
    void* stream = nullptr;
    static_cast<void>(plugin().create_stream(&stream));
    const stretto_status s =
        rank == 1 ? faulty(comm, rank, from, to, stream)
                  : stretto_allreduce_on_stream(from.data(), to.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o, stream);
    EXPECT_EQ(s, status) << stretto_message();
    EXPECT_NE(std::string(stretto_message()).find(text), std::string::npos) << stretto_message();
    static_cast<void>(plugin().destroy_stream(stream));
  });
}

TEST(DeviceApi, ABarrierOnAStreamIsRefusedOnEveryRank) {
  const stretto_options o = timed(exact());
  all_hear(
      [&](auto comm, int, auto&, auto&, void* s) {
        const stretto_call barrier = STRETTO_CALL_INIT;
        return stretto_run_on_stream(&barrier, comm, &o, s);
      },
      STRETTO_UNSUPPORTED, "a barrier does not run in the order of a stream");
}

TEST(DeviceApi, AWrongBufferIsNamedOnEveryRank) {
  const stretto_options o = timed(defaults());
  const auto sum = [&o](const float* in, float* out, stretto_comm comm, void* stream) {
    return stretto_allreduce_on_stream(in, out, 2000, STRETTO_F32, STRETTO_SUM, comm, &o, stream);
  };
  std::vector<float> host(2000);
  all_hear([&](auto comm, int, auto& from, auto&, void* s) { return sum(from.data(), host.data(), comm, s); },
           STRETTO_INVALID_ARGUMENT, "sendbuf is memory of device 1, and recvbuf memory of the host");
  all_hear([&](auto comm, int, auto&, auto&, void* s) { return sum(host.data(), host.data() + 1, comm, s); },
           STRETTO_INVALID_ARGUMENT, "sendbuf is memory of the host; the stream is of device 1");
  const DeviceVector<float> other(4, 2000), another(4, 2000);
  all_hear([&](auto comm, int, auto& from, auto&, void* s) { return sum(from.data(), other.data(), comm, s); },
           STRETTO_INVALID_ARGUMENT, "sendbuf is memory of device 1, and recvbuf memory of device 4");
  all_hear(
      [&](auto comm, int, auto&, auto&, void* s) {
        static_cast<void>(plugin().use_device(1));
        return sum(other.data(), another.data(), comm, s);
      },
      STRETTO_INVALID_ARGUMENT, "sendbuf is memory of device 4, the stream of device 1");
  all_hear(
      [&](auto comm, int, auto& from, auto& to, void* s) {
        return stretto_allreduce_on_stream(from.data(), to.data(), 2000, STRETTO_I32, STRETTO_USER, comm, &o, s);
      },
      STRETTO_INVALID_ARGUMENT, "STRETTO_USER needs options.user_function");
}

// Managed memory counts as host memory, since a host can read it.
TEST(DeviceApi, ManagedMemoryIsNamedOnEveryRankWhereItCannotBe) {
  const stretto_options o = timed(defaults());
  const auto managed = [&o](bool alone) {
    all_hear(
        [&](auto comm, int rank, auto&, auto& to, void* stream) {
          void* values = nullptr;
          static_cast<void>(plugin().use_device(rank));
          static_cast<void>(plugin().allocate(device::MemoryKind::managed, 2000 * sizeof(float), &values));
          const stretto_status s =
              alone ? stretto_allreduce_on_stream(STRETTO_IN_PLACE, values, 2000, STRETTO_F32, STRETTO_SUM, comm, &o,
                                                  stream)
                    : stretto_allreduce_on_stream(values, to.data(), 2000, STRETTO_F32, STRETTO_SUM, comm, &o, stream);
          static_cast<void>(plugin().release(device::MemoryKind::managed, values));
          return s;
        },
        STRETTO_INVALID_ARGUMENT,
        alone ? "recvbuf is managed memory; the stream is of device 1"
              : "sendbuf is managed memory, and recvbuf memory of device 1");
  };
  managed(false);
  managed(true);
}

TEST(DeviceApi, ManagedMemoryCountsAsTheHosts) {
  emulation().reset(1);
  on_ranks(3, [&](stretto_comm comm, int rank, int) {
    const std::size_t n = 2000;
    const stretto_options o = timed(defaults());
    void* values = nullptr;
    static_cast<void>(plugin().allocate(device::MemoryKind::managed, n * sizeof(float), &values));
    auto* const v = static_cast<float*>(values);
    std::fill_n(v, n, static_cast<float>(rank + 1));
    ASSERT_STRETTO_OK(stretto_allreduce(STRETTO_IN_PLACE, v, n, STRETTO_F32, STRETTO_SUM, comm, &o));
    EXPECT_EQ(std::vector<float>(v, v + n), std::vector<float>(n, 6));
    static_cast<void>(plugin().release(device::MemoryKind::managed, values));
  });
}

// CUDA takes freed memory for host memory.
TEST(DeviceApi, MemoryThatWasFreedIsRefusedOnAStream) {
  emulation().reset(1);
  on_ranks(1, [&](stretto_comm comm, int, int) {
    const std::size_t n = 2000;
    const stretto_options o = timed(defaults());
    const DeviceVector<float> to(0, n);
    void *stream = nullptr, *gone = nullptr;
    static_cast<void>(plugin().create_stream(&stream));
    static_cast<void>(plugin().allocate(device::MemoryKind::device, n * sizeof(float), &gone));
    static_cast<void>(plugin().release(device::MemoryKind::device, gone));
    EXPECT_EQ(stretto_allreduce_on_stream(gone, to.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o, stream),
              STRETTO_INVALID_ARGUMENT);
    EXPECT_NE(std::string(stretto_message()).find("sendbuf is memory of the host, and recvbuf memory of device 0"),
              std::string::npos)
        << stretto_message();
    static_cast<void>(plugin().destroy_stream(stream));
  });
}

TEST(DeviceApi, ReservedMemoryIsAllThatIsTaken) {
  emulation().reset(1);
  std::atomic<int> short_of_memory = 0;  // other ranks may hear of a shortage before their own
  on_ranks(3, [&](stretto_comm comm, int rank, int) {
    const std::size_t n = 20000;
    stretto_options o = timed(bounded(1e-3));
    o.payload = STRETTO_PAYLOAD_FUSED;
    const DeviceVector<float> from(rank, api_test::wave(rank, n)), to(rank, n);
    static_cast<void>(plugin().use_device(rank));
    std::size_t device_bytes = 0, pinned_bytes = 0;
    ASSERT_STRETTO_OK(stretto_cuda_need(comm, STRETTO_F32, n, &device_bytes, &pinned_bytes));
    ASSERT_STRETTO_OK(stretto_cuda_reserve(comm, device_bytes, pinned_bytes));
    ASSERT_STRETTO_OK(stretto_barrier(comm, &o));
    emulation().refuse_memory(rank);  // the last rank to do so
    for (int i = 0; i < 3; ++i)
      ASSERT_STRETTO_OK(
          stretto_allreduce_on_stream(from.data(), to.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o, nullptr));
    ASSERT_STRETTO_OK(stretto_barrier(comm, &o));
    int done = 0;
    while (!done) ASSERT_STRETTO_OK(stretto_cuda_query(comm, &done));
    emulation().refuse_memory(-1);
    ASSERT_STRETTO_OK(stretto_barrier(comm, &o));
    ASSERT_STRETTO_OK(stretto_cuda_reserve(comm, 100000, 100000));
    EXPECT_EQ(stretto_allreduce_on_stream(from.data(), to.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o, nullptr),
              STRETTO_BUFFER_TOO_SMALL);
    const std::string why = stretto_message();
    const bool mine = why.find("100096 are reserved") != std::string::npos;
    short_of_memory += mine;
    EXPECT_TRUE(mine || why.find("had failed (buffer_too_small)") != std::string::npos) << why;
  });
  EXPECT_GT(short_of_memory, 0);
}

TEST(DeviceApi, WhatTheLongestCallNeedsIsEnoughForAllShorterOnes) {
  emulation().reset(1);
  on_ranks(3, [&](stretto_comm comm, int rank, int) {
    const std::size_t n = 20000;
    stretto_options o = timed(fused());
    o.schedule = "ring";
    const DeviceVector<float> from(rank, api_test::wave(rank, n)), to(rank, n);
    static_cast<void>(plugin().use_device(rank));
    const auto sum = [&](std::size_t count) {
      const stretto_status s = stretto_allreduce(from.data(), to.data(), count, STRETTO_F32, STRETTO_SUM, comm, &o);
      int done = 0;
      while (!done && stretto_cuda_query(comm, &done) == STRETTO_OK) {
      }
      return s;
    };
    std::size_t bytes = 16384;
    stretto_status s = STRETTO_BUFFER_TOO_SMALL;
    for (; s == STRETTO_BUFFER_TOO_SMALL; bytes = bytes / 4 * 5) {
      ASSERT_STRETTO_OK(stretto_cuda_reserve(comm, bytes, std::size_t{4} << 20));
      s = sum(n);
    }
    ASSERT_STRETTO_OK(s);
    for (std::size_t count = n; count > 1000; count = count / 5 * 4) ASSERT_STRETTO_OK(sum(count));
    ASSERT_STRETTO_OK(sum(n));
  });
  EXPECT_EQ(emulation().races(), 0) << emulation().first_race();
}

TEST(DeviceApi, StartedCallsOfReservedMemoryLeaveItWhole) {
  emulation().reset(2);
  on_ranks(3, [&](stretto_comm comm, int rank, int) {
    const std::size_t n = 20000;
    stretto_options o = timed(fused());
    o.schedule = "ring";
    const DeviceVector<float> from(rank, api_test::wave(rank, n)), a(rank, n), b(rank, n);
    static_cast<void>(plugin().use_device(rank));
    std::size_t device_bytes = 0, pinned_bytes = 0;
    ASSERT_STRETTO_OK(stretto_cuda_need(comm, STRETTO_F32, n, &device_bytes, &pinned_bytes));
    ASSERT_STRETTO_OK(stretto_cuda_reserve(comm, device_bytes, pinned_bytes));
    const auto start = [&](const DeviceVector<float>& to, std::size_t count, stretto_request* request) {
      return stretto_iallreduce(from.data(), to.data(), count, STRETTO_F32, STRETTO_SUM, comm, &o, request);
    };
    for (std::size_t count = n; count > 1000; count = count / 3 * 2) {
      stretto_request first = nullptr, second = nullptr;
      ASSERT_STRETTO_OK(start(a, count / 2, &first));
      ASSERT_STRETTO_OK(start(b, count / 2, &second));
      ASSERT_STRETTO_OK(stretto_wait(second));
      ASSERT_STRETTO_OK(stretto_wait(first));
      auto sum = b.read(), same = a.read();
      sum.resize(count / 2);
      same.resize(count / 2);
      EXPECT_EQ(same, sum);
      for (stretto_request* r : {&first, &second}) ASSERT_STRETTO_OK(stretto_request_free(r));
    }
  });
  EXPECT_EQ(emulation().races(), 0) << emulation().first_race();
}

// Ranks wait for one another while devices are linked. A communication core must not: it also runs rank 1's part of the
// sum that rank 0 waits for, since rank 1 is in the barrier of a third communicator.
TEST(DeviceApi, AFirstStartedCallNeverBlocksACommunicationCore) {
  if (!std::getenv("STRETTO_COMM_CORES")) GTEST_SKIP() << "without communication cores nobody moves rank 1's part";
  emulation().reset(1);
  stretto_thread_group hosts = nullptr, barriers = nullptr;
  for (stretto_thread_group* g : {&hosts, &barriers}) ASSERT_STRETTO_OK(stretto_thread_group_create(2, g));
  on_ranks(2, [&](stretto_comm devices, int rank, int) {
    stretto_comm host = nullptr, last = nullptr;
    ASSERT_STRETTO_OK(stretto_comm_create_threads(hosts, rank, &host));
    ASSERT_STRETTO_OK(stretto_comm_create_threads(barriers, rank, &last));
    const std::size_t n = 5000;
    stretto_options o = timed(exact());
    o.timeout = 20;
    std::vector<float> in(n, 1), sum(n);
    const DeviceVector<float> from(rank, in), to(rank, n);
    stretto_request on_host = nullptr, on_devices = nullptr;
    const auto start = [&](const float* x, float* y, stretto_comm comm, stretto_request* request) {
      return stretto_iallreduce(x, y, n, STRETTO_F32, STRETTO_SUM, comm, &o, request);
    };
    if (rank == 0) {
      ASSERT_STRETTO_OK(start(from.data(), to.data(), devices, &on_devices));
      ASSERT_STRETTO_OK(start(in.data(), sum.data(), host, &on_host));
      ASSERT_STRETTO_OK(stretto_wait(on_host));
    } else {
      ASSERT_STRETTO_OK(start(in.data(), sum.data(), host, &on_host));
      ASSERT_STRETTO_OK(start(from.data(), to.data(), devices, &on_devices));
    }
    ASSERT_STRETTO_OK(stretto_barrier(last, &o));
    for (stretto_request r : {on_host, on_devices}) ASSERT_STRETTO_OK(stretto_wait(r));
    EXPECT_EQ(sum, std::vector<float>(n, 2));
    EXPECT_EQ(to.read(), sum);
    for (stretto_request* r : {&on_host, &on_devices}) ASSERT_STRETTO_OK(stretto_request_free(r));
    for (stretto_comm c : {host, last}) ASSERT_STRETTO_OK(stretto_comm_free(c));
  });
  for (stretto_thread_group g : {hosts, barriers}) ASSERT_STRETTO_OK(stretto_thread_group_free(g));
}

TEST(DeviceApi, NothingIsReservedWhileTheDeviceWorks) {
  emulation().reset(1);
  on_ranks(1, [&](stretto_comm comm, int, int) {
    const std::size_t n = 20000, bytes = 10 << 20;
    const stretto_options o = timed(fused());
    const DeviceVector<float> from(0, api_test::wave(0, n)), to(0, n);
    static_cast<void>(plugin().use_device(0));
    emulation().stall(0);
    ASSERT_STRETTO_OK(
        stretto_allreduce_on_stream(from.data(), to.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o, nullptr));
    EXPECT_EQ(stretto_cuda_reserve(comm, bytes, bytes), STRETTO_INVALID_ARGUMENT);
    EXPECT_NE(std::string(stretto_message()).find("device 0 still works"), std::string::npos) << stretto_message();
    emulation().stall(-1);
    for (int done = 0; !done;) ASSERT_STRETTO_OK(stretto_cuda_query(comm, &done));
    EXPECT_EQ(stretto_cuda_reserve(comm, bytes, bytes), STRETTO_OK) << stretto_message();
  });
}

TEST(DeviceApi, TheNeedOfMoreValuesThanThereCanBeIsRefused) {
  on_ranks(1, [](stretto_comm comm, int, int) {
    std::size_t device_bytes = 0, pinned_bytes = 0;
    const std::size_t most = std::size_t{1} << 48;
    EXPECT_EQ(stretto_cuda_need(comm, STRETTO_F64, most + 1, &device_bytes, &pinned_bytes), STRETTO_INVALID_ARGUMENT);
    EXPECT_NE(std::string(stretto_message()).find("281474976710657 values"), std::string::npos) << stretto_message();
  });
}

// Loses a device (cudaErrorECCUncorrectable) at the n-th call of CUDA, or once the rank's call has returned. The rank's
// call fails, or stretto_cuda_query reports the loss; no rank hangs, and the next call fails on all ranks.
void a_lost_device_is_told(Way way) {
  constexpr int faulty = 1;
  int failed = 0, queried = 0;  // on the faulty rank
  for (const long n : {-1, 0, 3, 10, 20, 30, 50, 70, 90, 120, 160, 200}) {
    SCOPED_TRACE(testing::Message() << "way " << int(way) << ", call " << n);
    emulation().reset(static_cast<std::uint64_t>(n + 2));
    on_ranks(3, [&](stretto_comm comm, int rank, int) {
      const std::size_t count = 5000;
      const stretto_options o = timed(fused());
      const DeviceVector<float> from(rank, api_test::wave(rank, count)), to(rank, count);
      static_cast<void>(plugin().use_device(rank));
      const auto sum = [&] {
        if (way == Way::on_stream)
          return stretto_allreduce_on_stream(from.data(), to.data(), count, STRETTO_F32, STRETTO_SUM, comm, &o,
                                             nullptr);
        if (way == Way::ordinary)
          return stretto_allreduce(from.data(), to.data(), count, STRETTO_F32, STRETTO_SUM, comm, &o);
        stretto_request request = nullptr;
        stretto_status s =
            stretto_iallreduce(from.data(), to.data(), count, STRETTO_F32, STRETTO_SUM, comm, &o, &request);
        if (s == STRETTO_OK) s = stretto_wait(request);
        if (request) static_cast<void>(stretto_request_free(&request));
        return s;
      };
      ASSERT_STRETTO_OK(sum());
      ASSERT_STRETTO_OK(stretto_barrier(comm, &o));
      if (rank == faulty && n >= 0) emulation().lose(faulty, n);
      const stretto_status s = sum();
      if (rank == faulty && n < 0) emulation().lose(faulty, 0);
      EXPECT_TRUE(s == STRETTO_OK || s == STRETTO_INTERNAL) << stretto_status_name(s);
      if (rank == faulty && s != STRETTO_OK) {
        ++failed;
        EXPECT_NE(std::string(stretto_message()).find("CUDA error 214: uncorrectable ECC error"), std::string::npos)
            << stretto_message();
      }
      stretto_status ended = STRETTO_OK;
      for (int done = 0; !done && ended == STRETTO_OK;) ended = stretto_cuda_query(comm, &done);
      if (rank == faulty) {
        EXPECT_TRUE(s == STRETTO_OK || ended == STRETTO_INTERNAL) << stretto_status_name(ended);
        queried += s == STRETTO_OK && ended == STRETTO_INTERNAL;
        emulation().lose(faulty, 0);
      }
      // A loss during messages makes the communicator unusable.
      const stretto_status next = sum();
      const std::string text = stretto_message();
      const bool unusable = text.find("unusable: ") != std::string::npos && text.find("214") != std::string::npos;
      EXPECT_EQ(next, unusable ? STRETTO_TIMEOUT : STRETTO_INTERNAL) << text;
      if (rank != faulty) return;
      int done = 0;
      EXPECT_EQ(stretto_cuda_query(comm, &done), STRETTO_INTERNAL);
      EXPECT_NE(std::string(stretto_message()).find("device 1 was lost"), std::string::npos) << stretto_message();
    });
  }
  EXPECT_GT(failed, 2);  // the number of a run's calls depends on time
  EXPECT_EQ(queried > 0, way == Way::on_stream);
}

TEST(DeviceApi, ALostDeviceIsToldByABlockingCall) { a_lost_device_is_told(Way::ordinary); }
TEST(DeviceApi, ALostDeviceIsToldByACallOnAStreamOrByItsQuery) { a_lost_device_is_told(Way::on_stream); }
TEST(DeviceApi, ALostDeviceIsToldByAStartedCall) { a_lost_device_is_told(Way::started); }

TEST(DeviceApi, ACommunicatorUsesOneDevice) {
  emulation().reset(1);
  on_ranks(1, [&](stretto_comm comm, int, int) {
    const DeviceVector<float> a(0, 100), b(0, 100), c(1, 100), d(1, 100);
    ASSERT_STRETTO_OK(stretto_allreduce(a.data(), b.data(), 100, STRETTO_F32, STRETTO_SUM, comm, nullptr));
    EXPECT_EQ(stretto_allreduce(c.data(), d.data(), 100, STRETTO_F32, STRETTO_SUM, comm, nullptr), STRETTO_UNSUPPORTED);
    EXPECT_NE(std::string(stretto_message()).find("first 0, now 1"), std::string::npos) << stretto_message();
  });
}

// For comparison, codes of local values are found by a kernel of their own. `wanted`: its launches on rank 1.
TEST(DeviceApi, AReportSaysWhatRanOnTheDeviceAndLooksAtNoValues) {
  for (const auto& [codes, wanted] : {std::pair{"", 0L}, {"when_met", 2L}, {"ahead", 3L}}) {
    emulation().reset(3);
    setenv("STRETTO_DEVICE_CODES", codes, 1);
    on_ranks(3, [&](stretto_comm comm, int rank, int) {
      const auto in = api_test::wave(rank, 9000);
      static_cast<void>(plugin().use_device(rank));
      const DeviceVector<float> from(rank, in), to(rank, in.size());
      stretto_report r = STRETTO_REPORT_INIT;
      stretto_options o = timed(bounded(1e-3));
      o.schedule = "ring";
      o.payload = STRETTO_PAYLOAD_FUSED;
      o.report = &r;
      ASSERT_STRETTO_OK(stretto_allreduce(from.data(), to.data(), in.size(), STRETTO_F32, STRETTO_SUM, comm, &o));
      EXPECT_STREQ(r.payload, "fused");
      const char* const carrier = std::getenv("STRETTO_DEVICE_CARRIER");
      EXPECT_STREQ(r.device_carrier, carrier ? carrier : "peer");
      EXPECT_GT(r.codec_seconds, 0);
      EXPECT_LE(r.codec_seconds + r.wait_seconds, r.seconds);
      EXPECT_GT(r.predicted_seconds, 0);
      EXPECT_TRUE(std::isinf(r.error_with_rounding));
    });
    EXPECT_EQ(emulation().launches(1, STRETTO_CUDA_QUANTISE), wanted) << codes;
  }
  setenv("STRETTO_DEVICE_CODES", "never", 1);
  on_ranks(2, [&](stretto_comm comm, int rank, int) {
    static_cast<void>(plugin().use_device(rank));
    const DeviceVector<float> from(rank, 10), to(rank, 10);
    EXPECT_EQ(stretto_allreduce(from.data(), to.data(), 10, STRETTO_F32, STRETTO_SUM, comm, nullptr),
              STRETTO_UNSUPPORTED);
    EXPECT_NE(std::string(stretto_message()).find("STRETTO_DEVICE_CODES is 'never' here"), std::string::npos);
  });
  unsetenv("STRETTO_DEVICE_CODES");
}

}  // namespace
}  // namespace stretto::tests
