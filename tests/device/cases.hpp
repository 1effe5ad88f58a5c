// Collectives of vectors on the host and on emulated devices, run by the engine over threads.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "../engine/cases/calls.hpp"
#include "../engine/ranks.hpp"
#include "../sanitized.hpp"
#include "devices.hpp"
#include "schedule/floors.hpp"
#include "schedule/names.hpp"
#include "thread_messages.hpp"

namespace stretto::tests {

using payload::Kind;
using schedule::Collective;

enum class Where { host, device, mixed };  // mixed: odd ranks on the host

// Makes the messages of a rank's device. Ranks release it at once.
using Between = std::function<std::unique_ptr<carrier::DeviceMessages>(int rank, device::Device&)>;

struct Case {
  Collective collective = Collective::allreduce;
  std::string_view algorithm = "ring";
  Kind kind = Kind::fused;
  payload::Op op = payload::Op::sum;
  std::size_t count = 20000;
  bool in_place = false;
  std::size_t overlap = 0;  // distance in elements from the input's to the result's beginning on a device; 0: separate
  bool one_device = false;  // all ranks share it
  payload::Codes codes = payload::Codes::in_passing;
  int lanes = 0;           // of the device; 0: default
  int per_node = 0;        // ranks per node, with raw messages inside; 0: no nodes
  bool on_stream = false;  // input and result are copied on a stream of the program, which orders the run
  std::shared_ptr<DeviceMailboxes> mailboxes{};  // messages between devices without the host
  std::shared_ptr<Between> between{};            // messages between devices that use a device
  codec::Coding coding = codec::Coding::fixed;   // of streams in messages
  std::function<void(int rank)> ready{};         // called by each rank before its first run on a device
};

inline std::vector<float> wave(int rank, std::size_t count) {
  std::vector<float> v(count);
  for (std::size_t i = 0; i < count; ++i)
    v[i] = std::sin(0.001f * static_cast<float>(i) + static_cast<float>(rank)) * static_cast<float>(1 + i % 3);
  if (count > 77) v[77] = 1e30f;
  return v;
}

inline std::size_t in_length(const Case& c, int ranks) {
  using enum Collective;
  const bool blocks = c.collective == reduce_scatter || c.collective == alltoall || c.collective == scatter;
  return blocks ? c.count * static_cast<std::size_t>(ranks) : c.count;
}
inline std::size_t out_length(const Case& c, int ranks) {
  using enum Collective;
  const bool blocks = c.collective == allgather || c.collective == alltoall || c.collective == gather;
  return blocks ? c.count * static_cast<std::size_t>(ranks) : c.count;
}

// True on all ranks, except that reduce and gather have a result on the root only.
inline bool has_result(const Case& c, int rank) {
  return rank == 0 || (c.collective != Collective::reduce && c.collective != Collective::gather);
}
inline bool has_input(const Case& c, int rank) {
  return rank == 0 || (c.collective != Collective::scatter && c.collective != Collective::bcast);
}

inline engine::Work work_of(const Case& c, engine::Engine& engine, const float* in, float* out) {
  schedule::Request request;
  request.collective = c.collective;
  request.ranks = engine.carrier().size();
  request.rank = engine.carrier().rank();
  schedule::Groups nodes;
  engine::Work work;
  if (c.per_node > 0) {
    std::vector<std::int32_t> node_of;
    for (std::int32_t r = 0; r < request.ranks; ++r) node_of.push_back(r / c.per_node);
    nodes = schedule::groups_of(node_of);
    request.groups = &nodes;
    work.payload.nodes = static_cast<int>(nodes.members.size());
  }
  work.schedule = std::make_shared<schedule::Schedule>(schedule::find(c.collective, c.algorithm)->build(request));
  work.payload.kind = c.kind;
  work.payload.codes = c.codes;
  work.payload.coding = c.coding;
  work.lanes = c.lanes;
  work.payload.op = c.op;
  work.payload.eps = 1e-3;
  work.options.segment_bytes = 4096;
  work.options.timeout = 20;
  engine::Arguments arguments;
  const int rank = engine.carrier().rank();
  arguments.in = has_input(c, rank) ? in : nullptr;
  arguments.out = has_result(c, rank) ? out : nullptr;
  arguments.count = c.count;
  EXPECT_EQ(engine::bind(*work.schedule, payload::Type::f32, arguments, &work.blocks), Status::ok) << message();
  return work;
}

// A rank's device, with its vectors.
struct OnDevice {
  OnDevice(const Case& c, int number, const std::vector<float>& in, std::size_t n)
      : device(open_device(number)), from(number, in), to(number, n), in_place(c.in_place), overlap(c.overlap) {}
  float* out() const { return in_place || overlap > 0 ? from.data() + overlap : to.data(); }
  std::vector<float> result(void* stream = nullptr) const {
    if (!in_place && overlap == 0) return to.read(stream);
    const auto all = from.read(stream);
    return {all.begin() + static_cast<std::ptrdiff_t>(overlap), all.end()};
  }

  std::unique_ptr<device::Device> device;
  DeviceVector<float> from, to;
  const bool in_place;
  const std::size_t overlap;
};

// Status and result of every rank after `repeats` runs on one device.
struct Ran {
  std::vector<Status> status;
  std::vector<std::string> text;
  std::vector<std::vector<float>> result;
};
inline Ran run(const Case& c, int ranks, Where where, int repeats = 1) {
  const auto p = static_cast<std::size_t>(ranks);
  Ran ran{std::vector<Status>(p), std::vector<std::string>(p), std::vector<std::vector<float>>(p)};
  std::vector<std::unique_ptr<ThreadMessages>> messages(c.mailboxes ? p : 0);  // outlive the engines
  for (int r = 0; c.mailboxes && r < ranks; ++r)
    messages[static_cast<std::size_t>(r)] = std::make_unique<ThreadMessages>(c.mailboxes, r);
  on_ranks(ranks, [&](int rank, engine::Engine& engine) {
    const auto r = static_cast<std::size_t>(rank);
    const auto in = wave(rank, in_length(c, ranks) + c.overlap);
    const std::size_t n = out_length(c, ranks);
    if (where == Where::host || (where == Where::mixed && rank % 2 == 1)) {
      auto& result = ran.result[r];
      for (int i = 0; i < repeats && ran.status[r] == Status::ok; ++i) {
        result = c.in_place ? in : std::vector<float>(n);
        ran.status[r] = engine.run(work_of(c, engine, c.in_place ? result.data() : in.data(), result.data()));
        ran.text[r] = message();
      }
      if (!has_result(c, rank)) result.clear();
      return;
    }
    const OnDevice on(c, c.one_device ? 0 : device_of(rank), in, n);
    void* stream = nullptr;
    check(plugin().create_stream(&stream));
    const auto between = c.between ? (*c.between)(rank, *on.device) : nullptr;
    for (int i = 0; i < repeats && ran.status[r] == Status::ok; ++i) {
      if (i > 0) on.from.write(in);
      auto work = work_of(c, engine, on.from.data(), on.out());
      work.device = on.device.get();
      work.messages = c.mailboxes ? messages[r].get() : between.get();
      if (c.on_stream) {
        // The input is late, and the result is fetched before the run's last work is known to be over.
        on.from.write_late(in, stream);
        work.stream = stream;
        work.leaves_early = true;
      }
      if (c.ready && i == 0) c.ready(rank);
      ran.status[r] = engine.run(work);
      ran.text[r] = message();
      if (!has_result(c, rank) || ran.status[r] != Status::ok) continue;
      try {
        ran.result[r] = on.result(c.on_stream ? stream : nullptr);
      } catch (const std::runtime_error& e) {  // the device was lost
        ran.text[r] = e.what();
      }
    }
    while (!on.device->idle() && on.device->poll() == Status::ok) {
    }
    static_cast<void>(plugin().destroy_stream(stream));
    engine.trim();
  });
  return ran;
}

inline bool same_bits(const Ran& a, const Ran& b) {
  for (std::size_t r = 0; r < a.result.size(); ++r) {
    const auto &x = a.result[r], &y = b.result[r];
    if (x.size() != y.size()) return false;
    if (!x.empty() && std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) != 0) return false;
  }
  return true;
}

inline bool all_ok(const Ran& ran) {
  for (std::size_t r = 0; r < ran.status.size(); ++r) {
    if (ran.status[r] == Status::ok) continue;
    ADD_FAILURE() << "rank " << r << ": " << ran.text[r];
    return false;
  }
  return true;
}

inline std::string name_of(const Case& c, int ranks) {
  return std::string(schedule::name(c.collective)) + " " + std::string(c.algorithm) + ", " + payload::name(c.kind) +
         (c.codes == payload::Codes::in_passing ? ""
          : c.codes == payload::Codes::ahead    ? " ahead"
                                                : " in two kernels") +
         ", " + payload::name(c.op) + ", " + std::to_string(c.count) + " values, " + std::to_string(ranks) + " ranks";
}

inline constexpr auto kSums = {payload::Kind::raw, payload::Kind::cprp2p, payload::Kind::recompress,
                               payload::Kind::homomorphic, payload::Kind::fused};
inline constexpr auto kMoves = {payload::Kind::raw, payload::Kind::cprp2p, payload::Kind::recompress};

// Calls expect(case, ranks) for every schedule of a collective. Emulation is slow: 3 ranks run every payload, other
// rank counts the last payload only.
template <class Expect>
void every_schedule(schedule::Collective collective, std::initializer_list<payload::Kind> kinds,
                    std::initializer_list<int> others, const Expect& expect) {
  int seen = 0;
  for (const schedule::Algorithm& algorithm : schedule::algorithms()) {
    if (algorithm.collective != collective || seen++ % stride_if_sanitized(4) != 0) continue;
    const auto on = [&](payload::Kind kind, int ranks) {
      if (schedule::check_ranks(collective, ranks) != Status::ok) return;
      expect({.collective = collective, .algorithm = algorithm.name, .kind = kind, .count = 2000}, ranks);
    };
    for (const payload::Kind kind : kinds) on(kind, 3);
    for (const int ranks : others) on(*(kinds.end() - 1), ranks);
  }
}

}  // namespace stretto::tests
