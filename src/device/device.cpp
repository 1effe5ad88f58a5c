#include "device/device.hpp"

#include <algorithm>

#include "base/guarded.hpp"

namespace stretto::device {
namespace {

using codec::cuda::Outcome;
using codec::cuda::Result;

constexpr std::size_t kResultsAtOnce = 256;
constexpr u32 kPending = ~u32{0};

constexpr Purpose kToUse("to use a device");

}  // namespace

void Device::Visit::enter(const Device& device) noexcept {
  device_ = &device;
  int now = -1;
  if (device.plugin_.current_device(&now) != 0 || now == device.number_) return;
  if (device.plugin_.use_device(device.number_) == 0) before_ = now;
}

Device::Device(const Plugin& plugin, int number)
    : plugin_(plugin),
      number_(number),
      device_memory_(plugin, MemoryKind::device, "device"),
      pinned_memory_(plugin, MemoryKind::pinned, "pinned"),
      pinned_(&pinned_memory_) {
  for (Lane& lane : lane_) lane.pool = std::make_unique<payload::Pool>(&device_memory_);
}

Status Device::open(const Plugin& plugin, int number, std::unique_ptr<Device>* made) noexcept {
  return guarded(kToUse, [&] {
    std::unique_ptr<Device> device(new Device(plugin, number));
    const Visit visit(*device);
    if (const Status s = device->make(); s != Status::ok) return s;
    *made = std::move(device);
    return Status::ok;
  });
}

Status Device::make() noexcept {
  const Status s = check(plugin_.create_event(&boundary_), "an event");
  return s == Status::ok ? make_lanes(kUsualLanes) : s;
}

Status Device::make_lanes(std::size_t lanes) noexcept {
  Status s = Status::ok;
  for (std::size_t i = 0; i < std::min(lanes, kMostLanes); ++i) {
    Lane& lane = lane_[i];
    if (s == Status::ok && lane.stream == nullptr) s = check(plugin_.create_stream(&lane.stream), "a stream");
    for (void*& event : lane.event) {
      if (s == Status::ok && event == nullptr) s = check(plugin_.create_event(&event), "an event");
    }
  }
  return s;
}

// Freeing memory waits for the current device, which must be this one: destroyed streams may have work left.
Device::~Device() {
  const Visit visit(*this);
  for (Lane& lane : lane_) {
    lane.operations.clear();
    for (void* event : lane.event) {
      if (event != nullptr) static_cast<void>(plugin_.destroy_event(event));
    }
    if (lane.stream != nullptr) static_cast<void>(plugin_.destroy_stream(lane.stream));
    lane.workspace = {};
  }
  kept_.clear();
  result_chunks_.clear();
  if (boundary_ != nullptr) static_cast<void>(plugin_.destroy_event(boundary_));
  for (Lane& lane : lane_) lane.pool.reset();
  pinned_.trim();
  device_memory_.drop();
  pinned_memory_.drop();
}

Status Device::usable() const noexcept {
  return lost_ ? fail(Status::internal, "device {} was lost: {}", number_, why_lost_.data()) : Status::ok;
}

Status Device::check(int error, const char* what) noexcept {
  if (error == 0) return Status::ok;
  const Status s =
      fail(Status::internal, "device {}, {}: CUDA error {}: {}", number_, what, error, plugin_.error_text(error));
  if (!lost_) copy_message(why_lost_);
  lost_ = true;
  return s;
}

Status Device::reserve(std::size_t device_bytes, std::size_t pinned_bytes) noexcept {
  const Visit visit(*this);
  if (const Status s = poll(); s != Status::ok) return s;
  if (!idle())
    return fail(Status::invalid_argument,
                "device {} still works on collectives (stretto_cuda_query tells when it is done)", number_);
  drop_idle();
  if (const Status s = device_memory_.fix(device_bytes); s != Status::ok) return s;
  return pinned_memory_.fix(pinned_bytes);
}

void Device::drop_idle() noexcept {
  for (Lane& lane : lane_) {
    lane.workspace = {};
    lane.pool->trim();
  }
  result_chunks_.clear();
  results_.clear();
  pinned_.trim();
}

// Returns pieces without a plugin call: collectives of other lengths need others.
Status Device::begin() noexcept {
  if (!device_memory_.is_fixed()) return Status::ok;
  if (const Status s = poll(); s != Status::ok) return s;
  if (idle()) drop_idle();
  return Status::ok;
}

Status Device::need(payload::Type type, std::size_t count, std::size_t* device_bytes,
                    std::size_t* pinned_bytes) noexcept {
  constexpr std::size_t least = std::size_t{4} << 20;
  constexpr std::size_t most_values = std::size_t{1} << 48;
  if (count > most_values) return fail(Status::invalid_argument, "{} values: at most 2^48 at once", count);
  const Visit visit(*this);
  const std::size_t values = count * payload::size_of(type);
  *device_bytes = 12 * values + least;
  *pinned_bytes = 4 * values + least;
  const auto codec = payload::codec_type(type);
  if (!codec || *codec == codec::Type::i32 || *codec == codec::Type::i64) return Status::ok;
  u64 workspace = 0, most = 0;
  for (const auto operation : {codec::cuda::StreamOperation::compress, codec::cuda::StreamOperation::add,
                               codec::cuda::StreamOperation::add_values, codec::cuda::StreamOperation::max,
                               codec::cuda::StreamOperation::decompress}) {
    const int e = plugin_.workspace_bytes(operation, static_cast<codec::cuda::Type>(*codec), count, &workspace);
    if (const Status s = check(e, "a workspace"); s != Status::ok) return s;
    most = std::max(most, workspace);
  }
  const std::size_t code = *codec == codec::Type::f64 ? sizeof(std::int64_t) : sizeof(std::int32_t);
  *device_bytes += 2 * kMostLanes * static_cast<std::size_t>(most) + count * code;
  return Status::ok;
}

Status Device::start_after(void* stream, std::size_t lanes) noexcept {
  if (const Status s = check(plugin_.record(boundary_, stream), "an event"); s != Status::ok) return s;
  for (std::size_t i = 0; i < lanes; ++i) {
    if (const Status s = check(plugin_.wait(this->stream(i), boundary_), "a wait"); s != Status::ok) return s;
  }
  return Status::ok;
}

Status Device::end_before(void* stream) noexcept {
  for (Lane& lane : lane_) {
    if (lane.marked == 0) continue;
    if (const Status s = mark(lane); s != Status::ok) return s;
    if (const Status s = check(plugin_.wait(stream, lane.event[lane.marked % kEvents]), "a wait"); s != Status::ok)
      return s;
  }
  return Status::ok;
}

Status Device::join(std::size_t first, std::size_t lanes) noexcept {
  if (const Status s = mark(lane_[first]); s != Status::ok) return s;
  for (std::size_t i = 0; i < lanes; ++i) {
    if (i == first) continue;
    const int e = plugin_.wait(stream(i), lane_[first].event[lane_[first].marked % kEvents]);
    if (const Status s = check(e, "a wait"); s != Status::ok) return s;
  }
  return Status::ok;
}

// Without later work the last place stands for now, too.
Status Device::mark(Lane& lane) noexcept {
  if (!lane.unmarked) return Status::ok;
  const Status s = check(plugin_.record(lane.event[(lane.marked + 1) % kEvents], lane.stream), "an event");
  if (s == Status::ok) {
    ++lane.marked;
    lane.unmarked = false;
  }
  return s;
}

Status Device::mark(std::uint32_t which, LanePositions* moment) noexcept {
  *moment = {};
  for (std::size_t i = 0; i < kMostLanes; ++i) {
    if ((which >> i & 1) == 0) continue;
    if (const Status s = mark(lane_[i]); s != Status::ok) return s;
    moment->at[i] = lane_[i].marked;
  }
  return Status::ok;
}

bool Device::passed(const LanePositions& moment) const noexcept {
  for (std::size_t i = 0; i < kMostLanes; ++i) {
    if (lane_[i].passed < moment.at[i]) return false;
  }
  return true;
}

bool Device::idle() const noexcept {
  return kept_.empty() && std::all_of(lane_.begin(), lane_.end(), [](const Lane& lane) {
           return lane.operations.empty() && lane.passed == lane.marked;
         });
}

Status Device::keep(payload::Buffer buffer, const LanePositions& until) noexcept {
  if (!buffer || passed(until)) return Status::ok;
  return guarded(kToUse, [&] { kept_.push_back({until, std::move(buffer)}); });
}

Status Device::poll() noexcept {
  if (lost_) return usable();
  if (!pace_.may_ask()) return Status::ok;
  for (Lane& lane : lane_) {
    if (const Status s = poll(lane); s != Status::ok) return s;
  }
  std::erase_if(kept_, [this](const RetainedBuffer& k) { return passed(k.until); });
  return Status::ok;
}

// Events are reused: waiting for a place whose event was recorded again takes a little longer.
Status Device::poll(Lane& lane) noexcept {
  while (lane.passed < lane.marked) {
    const std::uint64_t oldest = lane.marked >= kEvents ? lane.marked - kEvents + 1 : 1;
    const std::uint64_t place = std::max(lane.passed + 1, oldest);
    int over = 0;
    if (const Status s = check(plugin_.is_over(lane.event[place % kEvents], &over), "work"); s != Status::ok) return s;
    if (over == 0) {
      pace_.asked_in_vain();
      break;
    }
    lane.passed = place;
  }
  while (!lane.operations.empty() && lane.operations.front().place <= lane.passed) {
    end(lane.operations.front());
    lane.operations.pop_front();
  }
  return Status::ok;
}

void Device::end(const Operation& operation) noexcept {
  const Result result = *operation.result;
  results_.push_back(operation.result);  // has room for all
  const bool came = result.outcome <= static_cast<u32>(Status::internal);
  const Status status = came ? static_cast<Status>(result.outcome)
                             : fail(Status::internal, "device {} is done, and no result has come", number_);
  if (operation.out) operation.out.set_content(static_cast<std::size_t>(result.bytes));
  if (operation.owner != nullptr)
    operation.owner->ended(operation.unit, status, static_cast<std::size_t>(result.bytes));
  else if (late_ == Status::ok)
    late_ = status;
}

void Device::forget(const Owner* owner) noexcept {
  for (Lane& lane : lane_) {
    for (Operation& o : lane.operations) {
      if (o.owner == owner) o.owner = nullptr;
    }
  }
}

Status Device::late() noexcept {
  const Status s = std::exchange(late_, Status::ok);
  return s == Status::ok ? s : fail(s, "the last step of an earlier collective ended in {} on the device", name(s));
}

Status Device::make_room(Lane& lane, std::size_t workspace) noexcept {
  if (lane.workspace.capacity() >= workspace) return Status::ok;
  lane.workspace = {};
  return lane.pool->take(workspace, &lane.workspace);
}

Status Device::take_result(Result** result) noexcept {
  if (results_.empty()) {
    payload::Buffer chunk;
    if (const Status s = pinned_.take(kResultsAtOnce * sizeof(Result), &chunk); s != Status::ok) return s;
    const Status s = guarded(kToUse, [&] {
      results_.reserve((result_chunks_.size() + 1) * kResultsAtOnce);
      result_chunks_.push_back(chunk);
    });
    if (s != Status::ok) return s;
    for (std::size_t i = 0; i < kResultsAtOnce; ++i) results_.push_back(reinterpret_cast<Result*>(chunk.data()) + i);
  }
  *result = results_.back();
  results_.pop_back();
  return Status::ok;
}

Status Device::launch(std::size_t index, codec::cuda::Arguments* a, const payload::Buffer& out, Owner* owner,
                      std::uint32_t unit) noexcept {
  Lane& lane = lane_[index];
  u64 workspace = 0;
  Status s = check(plugin_.workspace_bytes(a->operation, a->type, a->count, &workspace), "a workspace");
  if (s == Status::ok) s = make_room(lane, static_cast<std::size_t>(workspace));
  Result* result = nullptr;
  if (s == Status::ok) s = take_result(&result);
  if (s != Status::ok) return s;
  s = guarded(kToUse, [&] { lane.operations.push_back({result, out, owner, unit, lane.marked + 1}); });
  if (s != Status::ok) {
    results_.push_back(result);
    return s;
  }
  if (out) out.set_content(payload::Buffer::kUnknown);
  result->outcome = kPending;
  a->workspace = lane.workspace.data();
  // Every device reaches pinned memory.
  a->result = result;
  a->host_result = nullptr;
  a->stream = stream(index);
  s = check(plugin_.launch(*a), "a kernel");
  if (s == Status::ok) return s;
  results_.push_back(result);
  lane.operations.pop_back();
  return s;
}

}  // namespace stretto::device
