#include "ranks.hpp"

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "../devices.hpp"
#include "stretto/stretto_cuda.h"
#include "stretto/stretto_cuda_collectives.h"

namespace {

using namespace stretto;
using tests::emulation;
using tests::find_emulation;

int wrong = 0;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s: %s\n", what, stretto_message());
  ++wrong;
}

// Sums are exact in every order.
std::vector<float> values(int rank, std::size_t n) {
  std::vector<float> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<float>((static_cast<std::size_t>(rank) * 7 + i * 3) % 11);
  return v;
}

struct Case {
  bool within_bound = false, on_stream = false;
  int host_ranks = 0;  // ranks below this number are on the host
};

void sum(stretto_comm comm, const Case& c, std::size_t n) {
  const int rank = stretto_comm_rank(comm), ranks = stretto_comm_size(comm);
  stretto_options o = STRETTO_OPTIONS_INIT;
  o.timeout = 60;
  if (c.within_bound) {
    o.bound_kind = STRETTO_BOUND_ABSOLUTE;
    o.bound = 0.25;  // a grid that contains the values
    o.payload = STRETTO_PAYLOAD_FUSED;
  }
  const auto in = values(rank, n);
  std::vector<float> out(n), expected(n);
  for (int r = 0; r < ranks; ++r) {
    const auto part = values(r, n);
    for (std::size_t i = 0; i < n; ++i) expected[i] += part[i];
  }
  if (rank < c.host_ranks) {
    expect(stretto_allreduce(in.data(), out.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o) == STRETTO_OK, "host");
  } else {
    const tests::DeviceVector<float> from(0, in), to(0, n);
    const stretto_status s =
        c.on_stream
            ? stretto_allreduce_on_stream(from.data(), to.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o, nullptr)
            : stretto_allreduce(from.data(), to.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o);
    expect(s == STRETTO_OK, "device");
    out = to.read();
  }
  const float most = c.within_bound ? 0.25f * static_cast<float>(ranks) : 0;
  bool near = true;
  for (std::size_t i = 0; i < n; ++i) near = near && std::abs(out[i] - expected[i]) <= most;
  expect(near, "a wrong sum");
}

// With stretto_cuda_need's memory no call of up to n values lacks memory, or allocates on the device.
void sums_of_reserved_memory(stretto_comm comm, std::size_t n) {
  const int rank = stretto_comm_rank(comm);
  const tests::DeviceVector<float> from(0, values(rank, n)), to(0, n);
  std::size_t device_bytes = 0, pinned_bytes = 0;
  expect(stretto_cuda_need(comm, STRETTO_F32, n, &device_bytes, &pinned_bytes) == STRETTO_OK, "need");
  int done = 0;
  while (!done && stretto_cuda_query(comm, &done) == STRETTO_OK) {
  }
  expect(stretto_cuda_reserve(comm, device_bytes, pinned_bytes) == STRETTO_OK, "reserve");
  if (find_emulation()) emulation().refuse_memory(0);
  for (const char* const schedule : {"ring", "recursive_doubling", "rabenseifner"}) {
    for (const stretto_payload payload : {STRETTO_PAYLOAD_RAW, STRETTO_PAYLOAD_FUSED, STRETTO_PAYLOAD_RECOMPRESS}) {
      stretto_options o = STRETTO_OPTIONS_INIT;
      o.timeout = 60;
      o.schedule = schedule;
      o.payload = payload;
      if (payload != STRETTO_PAYLOAD_RAW) o.bound_kind = STRETTO_BOUND_ABSOLUTE, o.bound = 0.25;
      for (const std::size_t count : {n, n / 3})
        expect(stretto_allreduce(from.data(), to.data(), count, STRETTO_F32, STRETTO_SUM, comm, &o) == STRETTO_OK,
               schedule);
    }
  }
  if (find_emulation()) emulation().refuse_memory(-1);
}

// With peer access device memory holds incoming messages only: less than twice the vector.
void sums_that_stage_nothing(stretto_comm comm, std::size_t n) {
  const int rank = stretto_comm_rank(comm);
  const tests::DeviceVector<float> from(0, values(rank, n)), to(0, n);
  int done = 0;
  while (!done && stretto_cuda_query(comm, &done) == STRETTO_OK) {
  }
  expect(stretto_cuda_reserve(comm, 7 * n, std::size_t{1} << 20) == STRETTO_OK, "reserve");
  stretto_options o = STRETTO_OPTIONS_INIT;
  o.timeout = 60;
  o.schedule = "ring";
  for (int i = 0; i < 3; ++i)
    expect(stretto_allreduce(from.data(), to.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o) == STRETTO_OK,
           "messages take memory beside what comes");
}

}  // namespace

namespace stretto::tests {

int sums_of_ranks(stretto_comm comm) {
  const int ranks = stretto_comm_size(comm);
  begin_order(static_cast<std::uint64_t>(stretto_comm_rank(comm) + 1));
  for (const std::size_t n : {std::size_t{10}, std::size_t{3000}, std::size_t{100000}}) {
    for (const bool within_bound : {false, true}) {
      for (int i = 0; i < 3; ++i) {  // from the second round on host calls are prepared
        sum(comm, {within_bound, false, ranks}, n);
        sum(comm, {within_bound, false, 0}, n);
        sum(comm, {within_bound, true, 0}, n);
        sum(comm, {within_bound, i % 2 == 0, ranks / 2}, n);
      }
    }
  }
  const char* const carrier = std::getenv("STRETTO_DEVICE_CARRIER");
  if (ranks > 1) sums_of_reserved_memory(comm, 100000);
  if ((ranks == 2 || ranks == 3) && carrier && std::string_view(carrier) == "peer")
    sums_that_stage_nothing(comm, 100000);
  if (find_emulation()) {
    expect(emulation().races() == 0, emulation().first_race());
    const bool direct = std::getenv("STRETTO_STAND_IN") && ranks > 1;  // the carrier takes device addresses
    expect((emulation().loans() > 0) == direct, direct ? "messages passed the host" : "messages passed the host by");
  }
  if (!find_emulation() && ranks > 1 && carrier && std::string_view(carrier) == "nccl") wrong += graph_of_ranks(comm);
  return wrong == 0 ? 0 : 1;
}

}  // namespace stretto::tests
