#include <cstring>
#include <utility>

#include "payload/worker_parts.hpp"

namespace stretto::payload {

void Worker::landed(Cell& dst) noexcept {
  dst.value.clear();
  dst.value.raw = dst.home;
  dst.value.settled = compressed();
}

Status Worker::replace(Cell& dst, std::byte* arrived, const Buffer& store) noexcept {
  enter(dst);
  if (dst.home != nullptr) {
    if (const Status s = executor_->copy(dst.home, arrived, raw_bytes(dst.count)); s != Status::ok) return s;
    landed(dst);
    return Status::ok;
  }
  dst.value.clear();
  set_raw(dst.value, arrived, true);
  dst.value.raw_store = store;
  dst.value.settled = compressed();
  return Status::ok;
}

Status Worker::replace(Cell& dst, Stream arrived) noexcept {
  enter(dst);
  dst.value.clear();
  if (!arrived) {
    dst.value.absent = true;
    return Status::ok;
  }
  dst.value.stream = std::move(arrived);
  return traits().forwards ? Status::ok : make_raw(dst);
}

Status Worker::add_raw(Value& value, const std::byte* x, std::size_t count, const Buffer& codes) noexcept {
  const Stream a = std::exchange(value.stream, {});
  return executor_->add_values(a, codes, x, count, &value.stream);
}

Status Worker::add_stream(Value& value, std::size_t count, const Stream& other) noexcept {
  const Stream a = std::exchange(value.stream, {});
  return executor_->combine(combine_, a, other, count, &value.stream);
}

Status Worker::meet(Cell& dst, Stream arrived, bool arrived_first) noexcept {
  enter(dst);
  Value& value = dst.value;
  if (!arrived) return Status::ok;
  if (value.absent) return replace(dst, std::move(arrived));
  if (!compressed()) return fail(Status::internal, "a stream met raw values");
  if (!traits().adds_codes) {
    if (const Status s = make_raw(dst); s != Status::ok) return s;
    Buffer decoded;
    if (const Status s = executor_->pool().take(raw_bytes(dst.count), &decoded); s != Status::ok) return s;
    if (const Status s = executor_->decompress(arrived, decoded.data(), dst.count, 1); s != Status::ok) return s;
    return meet(dst, decoded.data(), decoded, arrived_first);
  }
  if (fuses() && !value.stream && value.raw != nullptr) {
    const std::byte* local = value.raw;
    const Buffer keep = value.raw_store, codes = value.codes;
    value.clear();
    value.stream = std::move(arrived);
    return add_raw(value, local, dst.count, codes);
  }
  if (const Status s = make_stream(value, dst.count, dst.eps); s != Status::ok) return s;
  value.raw = nullptr;
  value.raw_store = {};
  return add_stream(value, dst.count, arrived);
}

Status Worker::meet(Cell& dst, std::byte* arrived, const Buffer& store, bool arrived_first) noexcept {
  enter(dst);
  Value& value = dst.value;
  if (value.absent) {
    const Status s = replace(dst, arrived, store);
    value.settled = false;
    return s;
  }
  if (value.raw == nullptr) {
    if (const Status s = make_raw(dst); s != Status::ok) return s;
  }
  Stopwatch watch(executor_->seconds.combine);
  std::byte* at = nullptr;
  Buffer own;
  if (const Status s = home(dst, &at, &own); s != Status::ok) return s;
  if (spec_.op != Op::user) {
    const void* left = arrived_first ? arrived : value.raw;
    const void* right = arrived_first ? value.raw : arrived;
    if (const Status s = executor_->combine_values(spec_.op, spec_.type, left, right, at, dst.count); s != Status::ok)
      return s;
  } else if (arrived_first) {
    if (value.raw != at) std::memcpy(at, value.raw, raw_bytes(dst.count));
    spec_.user.function(arrived, at, dst.count, spec_.user.context);
  } else {
    spec_.user.function(value.raw, arrived, dst.count, spec_.user.context);
    at = arrived;
    own = store;
  }
  value.stream = {};
  set_raw(value, at, static_cast<bool>(own));
  value.raw_store = std::move(own);
  return Status::ok;
}

Status Worker::meet(Cell& dst, Cell& src, bool src_first) noexcept {
  enter(dst);
  if (src.value.absent) return Status::ok;
  if (dst.value.absent) return copy(dst, src);
  const bool both_raw = dst.value.raw != nullptr && src.value.raw != nullptr && !dst.value.stream && !src.value.stream;
  const bool codes = traits().adds_codes;
  if (codes && !(both_raw && mixes(spec_))) {
    if (fuses() && dst.value.stream && !src.value.stream && src.value.raw != nullptr) {
      dst.value.raw = nullptr;
      dst.value.raw_store = {};
      return add_raw(dst.value, src.value.raw, dst.count, src.value.codes);
    }
    if (const Status s = make_stream(src.value, src.count, src.eps); s != Status::ok) return s;
    return meet(dst, src.value.stream, src_first);
  }
  if (compressed() && !codes) {
    if (const Status s = make_raw(dst); s != Status::ok) return s;
    if (const Status s = make_raw(src); s != Status::ok) return s;
  }
  if (src.value.raw == nullptr) return fail(Status::internal, "a step combines a block that nothing was put into");
  if (spec_.op == Op::user && !src_first) {
    // The function writes its right operand; src must not change.
    Buffer right;
    if (const Status s = executor_->pool().take(raw_bytes(src.count), &right); s != Status::ok) return s;
    std::memcpy(right.data(), src.value.raw, raw_bytes(src.count));
    return meet(dst, right.data(), right, false);
  }
  return meet(dst, const_cast<std::byte*>(src.value.raw), src.value.raw_store, src_first);
}

Status Worker::copy(Cell& dst, Cell& src) noexcept {
  enter(dst);
  if (&dst == &src) return Status::ok;
  dst.value.clear();
  dst.value.stream = src.value.stream;
  dst.value.absent = src.value.absent;
  if (src.value.raw == nullptr) return Status::ok;
  if (src.value.raw_fixed) {
    dst.value.raw = src.value.raw;
    dst.value.raw_store = src.value.raw_store;
    dst.value.raw_fixed = true;
    dst.value.codes = src.value.codes;
    dst.value.settled = src.value.settled;
  } else if (!dst.value.stream) {
    std::byte* at = nullptr;
    Buffer store;
    if (const Status s = home(dst, &at, &store); s != Status::ok) return s;
    if (const Status s = executor_->copy(at, src.value.raw, raw_bytes(src.count)); s != Status::ok) return s;
    set_raw(dst.value, at, static_cast<bool>(store));
    dst.value.raw_store = std::move(store);
    dst.value.codes = src.value.codes;
    dst.value.settled = src.value.settled;
  }
  return Status::ok;
}

Status Worker::quantise(Cell& cell) noexcept {
  enter(cell);
  Value& value = cell.value;
  if (!fuses() || value.raw == nullptr || value.stream || value.codes) return Status::ok;
  return executor_->quantise(value.raw, cell.count, &value.codes);
}

Status Worker::load(Cell& cell, const std::byte* const* inputs, std::size_t n, bool negate) noexcept {
  enter(cell);
  Value& value = cell.value;
  value.clear();
  const bool codes = traits().adds_codes;
  if (n == 0 && compressed() && has_header()) {
    value.absent = true;
    return Status::ok;
  }
  if (codes && !negate) {
    set_raw(value, inputs[0], true);
    if (const Status s = n > 1 ? make_stream(value, cell.count, cell.eps) : Status::ok; s != Status::ok) return s;
    for (std::size_t j = 1; j < n; ++j) {
      value.raw = nullptr;
      if (fuses()) {
        if (const Status s = add_raw(value, inputs[j], cell.count, {}); s != Status::ok) return s;
        continue;
      }
      Value next;
      set_raw(next, inputs[j], true);
      if (const Status s = make_stream(next, cell.count, cell.eps); s != Status::ok) return s;
      if (const Status s = add_stream(value, cell.count, next.stream); s != Status::ok) return s;
    }
    return Status::ok;
  }
  Buffer own;
  if (const Status s = executor_->pool().take(raw_bytes(cell.count), &own); s != Status::ok) return s;
  Stopwatch watch(executor_->seconds.combine);
  Status s = Status::ok;
  if (n == 0) s = executor_->clear(own.data(), raw_bytes(cell.count));
  if (n == 1 && !negate) s = executor_->copy(own.data(), inputs[0], raw_bytes(cell.count));
  if (negate) s = executor_->negate_values(spec_.type, inputs[0], own.data(), cell.count);
  if (s != Status::ok) return s;
  for (std::size_t j = 1; j < n; ++j) {
    const void* left = j == 1 ? inputs[0] : own.data();
    s = executor_->combine_values(spec_.op, spec_.type, left, inputs[j], own.data(), cell.count);
    if (s != Status::ok) return s;
  }
  set_raw(value, own.data(), true);
  value.raw_store = std::move(own);
  return Status::ok;
}

}  // namespace stretto::payload
