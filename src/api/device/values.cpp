#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>

#include "api/device/placement.hpp"
#include "call/enums.hpp"
#include "call/inputs.hpp"

namespace stretto::api {
namespace {

using device::Device;

constexpr std::size_t kLane = 0;

class Finder final : device::Owner {
 public:
  Finder(Device& device, codec::Type type) noexcept : device_(device), type_(type) {}
  ~Finder() { device_.forget(this); }

  Status find(const void* values, std::size_t count, double above, codec::Ranges* ranges) noexcept {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (const Status s = pass(values, count, infinity, &ranges->all, &ranges->ignored); s != Status::ok) return s;
    ranges->below = ranges->all;
    const double largest = std::max(std::fabs(ranges->all.lo), std::fabs(ranges->all.hi));
    if (ranges->all.empty() || largest < above) return Status::ok;
    return pass(values, count, above, &ranges->below, &ranges->ignored);
  }

 private:
  void ended(std::uint32_t, Status status, std::size_t bytes) noexcept override {
    ended_ = status;
    left_out_ = bytes;
  }

  Status wait() noexcept {
    device::LanePositions all;
    Status s = device_.mark(1u << kLane, &all);
    while (s == Status::ok && !device_.passed(all)) {
      std::this_thread::yield();
      s = device_.poll();
    }
    return s;
  }

  Status copy(void* to, const void* from, std::size_t bytes) noexcept {
    return device_.check(device_.plugin().copy(to, from, bytes, device_.stream(kLane)), "a copy");
  }

  Status pass(const void* values, std::size_t count, double above, codec::Interval* interval,
              std::uint64_t* left_out) noexcept {
    payload::Buffer found, pinned;
    Status s = device_.pool(kLane).take(2 * sizeof(double), &found);
    if (s == Status::ok) s = device_.pinned().take(2 * sizeof(double), &pinned);
    codec::cuda::Arguments a{};
    a.operation = codec::cuda::StreamOperation::range;
    a.type = static_cast<codec::cuda::Type>(type_);
    a.count = count;
    a.x = values;
    a.y = found.data();
    a.above = above;
    if (s == Status::ok) s = device_.launch(kLane, &a, {}, this, 0);
    if (s == Status::ok) s = copy(pinned.data(), found.data(), 2 * sizeof(double));
    const Status waited = wait();
    if (s == Status::ok) s = waited != Status::ok ? waited : ended_;
    if (s != Status::ok) return s;
    const auto* range = reinterpret_cast<const double*>(pinned.data());
    *interval = {range[0], range[1]};
    *left_out = left_out_;
    return Status::ok;
  }

  Device& device_;
  const codec::Type type_;
  Status ended_ = Status::ok;
  std::size_t left_out_ = 0;
};

}  // namespace

Status find_values(stretto_comm_s& comm, Call* call) noexcept {
  if (!is_floating(call->type)) {
    return fail(Status::unsupported, "the range of {} is not found on a device", type_name(call->type));
  }
  Device& device = *call->device;
  const Device::Visit visit(device);
  if (call->stream) {
    if (const Status s = device.start_after(*call->stream, kLane + 1); s != Status::ok) return s;
  }
  Finder finder(device, codec_type(call->type));
  call->values.emplace();
  Piece piece;
  for (std::size_t i = 0; input_piece(*call, comm.rank, comm.size, i, &piece); ++i) {
    if (piece.count == 0) continue;
    codec::Ranges own;
    const Status s = finder.find(piece.first, piece.count, ignore_above(call->settings.options), &own);
    if (s != Status::ok) return s;
    call->values->merge(own);
  }
  return Status::ok;
}

}  // namespace stretto::api
