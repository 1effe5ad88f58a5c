#include "payload/worker.hpp"

#include "payload/worker_parts.hpp"

namespace stretto::payload {
namespace {

codec::Combine combine_of(Op op) noexcept {
  if (op == Op::min) return codec::Combine::min;
  if (op == Op::max) return codec::Combine::max;
  return codec::Combine::add;
}

}  // namespace

void Worker::begin(const Spec& spec, bool reduces, Executor* executor) noexcept {
  spec_ = spec;
  reduces_ = reduces;
  sums_ = spec.op != Op::min && spec.op != Op::max;
  type_ = codec_type(spec.type).value_or(codec::Type::f32);
  combine_ = combine_of(spec.op);
  size_ = size_of(spec.type);
  executor_ = executor;
}

std::size_t Worker::message_bound(std::size_t count) const noexcept {
  if (!compressed()) return raw_bytes(count);
  return has_header() ? codec::compress_bound(type_, count) : count * kHalfBytes;
}

std::size_t Worker::longest(std::size_t count) const noexcept {
  return compressed() && has_header() ? codec::combine_bound(type_, count) : message_bound(count);
}

Status Worker::make_stream(Value& value, std::size_t count, double eps) noexcept {
  if (value.stream || value.absent) return Status::ok;
  if (value.raw == nullptr) return fail(Status::internal, "a step reads a block that nothing was put into");
  return executor_->compress(value.raw, count, eps, &value.stream);
}

// A pool's buffer is fixed once written.
Status Worker::home(Cell& cell, std::byte** at, Buffer* store) noexcept {
  *at = cell.home;
  if (cell.home != nullptr) return Status::ok;
  const Status s = executor_->pool().take(raw_bytes(cell.count), store);
  *at = store->data();
  return s;
}

// A stream takes precedence over a value: other ranks received it.
Status Worker::make_raw(Cell& cell) noexcept {
  if (cell.value.stream) {
    std::byte* at = nullptr;
    Buffer store;
    if (const Status s = home(cell, &at, &store); s != Status::ok) return s;
    if (const Status s = executor_->decompress(cell.value.stream, at, cell.count, 1); s != Status::ok) return s;
    cell.value.stream = {};
    set_raw(cell.value, at, static_cast<bool>(store));
    cell.value.raw_store = std::move(store);
    cell.value.settled = true;
  }
  if (cell.value.raw == nullptr) return fail(Status::internal, "a step reads a block that nothing was put into");
  return Status::ok;
}

Status Worker::pack(Cell& cell) noexcept {
  enter(cell);
  Value& value = cell.value;
  if (!compressed())
    return value.raw != nullptr ? Status::ok : fail(Status::internal, "a step sends a block that nothing was put into");
  if (!traits().forwards && value.raw != nullptr) value.stream = {};
  return make_stream(value, cell.count, cell.eps);
}

// Keeps the stream for other sends.
Status Worker::pack_raw(Cell& cell, bool settle) noexcept {
  enter(cell);
  Value& value = cell.value;
  if (value.absent) {
    Buffer zeros;
    if (const Status s = executor_->pool().take(raw_bytes(cell.count), &zeros); s != Status::ok) return s;
    if (const Status s = executor_->clear(zeros.data(), raw_bytes(cell.count)); s != Status::ok) return s;
    set_raw(value, zeros.data(), true);
    value.raw_store = std::move(zeros);
    return Status::ok;
  }
  if (value.raw != nullptr && (value.settled || !settle || !compressed())) return Status::ok;
  if (value.raw == nullptr && !value.stream)
    return fail(Status::internal, "a step sends a block that nothing was put into");
  if (const Status s = make_stream(value, cell.count, cell.eps); s != Status::ok) return s;
  const Stream stream = value.stream;
  if (const Status s = make_raw(cell); s != Status::ok) return s;
  value.stream = stream;
  return Status::ok;
}

Status Worker::finish(Cell& cell, bool from_stream, std::uint32_t divisor) noexcept {
  enter(cell);
  Value& value = cell.value;
  const std::size_t bytes = raw_bytes(cell.count);
  if (divisor > 1 && mixes(spec_)) {
    if (const Status s = finish(cell, from_stream, 1); s != Status::ok) return s;
    return executor_->divide_values(spec_.type, cell.home, cell.count, divisor);
  }
  if (value.absent) return executor_->clear(cell.home, bytes);
  // Under cprp2p forwarded values are decoded already; the codec divides means, to round once.
  const bool done = value.raw != nullptr && value.settled && divisor <= 1;
  if (compressed() && !done && (from_stream || value.raw == nullptr)) {
    if (const Status s = make_stream(value, cell.count, cell.eps); s != Status::ok) return s;
    return executor_->decompress(value.stream, cell.home, cell.count, divisor);
  }
  if (value.raw == nullptr) return fail(Status::internal, "a result block that nothing was put into");
  if (value.raw != cell.home) {
    if (const Status s = executor_->copy(cell.home, value.raw, bytes); s != Status::ok) return s;
  }
  return divisor > 1 ? executor_->divide_values(spec_.type, cell.home, cell.count, divisor) : Status::ok;
}

}  // namespace stretto::payload
