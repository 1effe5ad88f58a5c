#include "codec/shape/view.hpp"

#include <bit>

#include "codec/stream/format.hpp"

namespace stretto::codec {
namespace shaped {
namespace {

Status corrupt(const char* what, std::uint64_t value) noexcept {
  return fail(Status::corrupt_stream, "shaped stream: {} is {}", what, value);
}

bool legal(Axes axes, int of) noexcept { return axes >> (of - 1) == 0 && std::popcount(axes) <= kMostDifferences; }

Status read_shape(const std::uint8_t* p, View* v) noexcept {
  const Info& info = v->info;
  const std::uint8_t axes = p[kHeaderBytes], form = p[kHeaderBytes + 3];
  if (axes < 1 || axes > kMaxAxes) return corrupt("the number of axes", axes);
  if (info.bytes < kHeaderBytes + shape_bytes(axes)) return corrupt("the length", info.bytes);
  v->shape.axes = axes;
  v->code_axes = p[kHeaderBytes + 1];
  v->map_axes = p[kHeaderBytes + 2];
  v->one_value = (form & kOneValueBit) != 0;
  if (!legal(v->code_axes, axes)) return corrupt("the set of the codes' axes", v->code_axes);
  if (!legal(v->map_axes, axes)) return corrupt("the set of the map's axes", v->map_axes);
  if (form > kOneValueBit) return corrupt("the form", form);
  if (load<std::uint32_t>(p + kHeaderBytes + 4)) return corrupt("word 68", load<std::uint32_t>(p + kHeaderBytes + 4));
  if (info.exceptions == 0 && (v->map_axes || form)) return corrupt("the form without exceptions", form);
  if (info.exceptions > 0 && is_integer(info.type)) return corrupt("the number of exceptions", info.exceptions);
  if (info.code_bound > kMostCode) return corrupt("the code bound", info.code_bound);
  std::uint64_t count = 1;
  for (int k = 0; k < axes; ++k) {
    const auto extent = load<std::uint64_t>(p + kHeaderBytes + 8 + 8 * k);
    if (extent == 0 || extent > info.count / count) return corrupt("an extent", extent);
    v->shape.extent[k] = extent;
    count *= extent;
  }
  if (count != info.count) return corrupt("the product of the extents", count);
  return Status::ok;
}

Status take(const char* what, Bytes* left, std::uint64_t count, Bytes* part) noexcept {
  Info info;
  if (const Status s = inspect(*left, &info); s != Status::ok) return s;
  if (is_shaped(*left) || info.coding != Coding::dense || info.type != Type::i32 || info.count != count ||
      info.checksum)
    return fail(Status::corrupt_stream, "shaped stream: the {} are {} {} of a stream that is {}", what, info.count,
                name(info.type), is_shaped(*left) ? "shaped" : name(info.coding));
  *part = left->first(static_cast<std::size_t>(info.bytes));
  *left = left->subspan(static_cast<std::size_t>(info.bytes));
  return Status::ok;
}

}  // namespace

bool is_shaped(Bytes in) noexcept { return in.size() >= kHeaderBytes && static_cast<std::uint8_t>(in[4]) == kVersion; }

Status open(Bytes in, View* v) noexcept {
  if (const Status s = inspect(in, &v->info); s != Status::ok) return s;
  const auto* const p = reinterpret_cast<const std::uint8_t*>(in.data());
  if (const Status s = read_shape(p, v); s != Status::ok) return s;
  Bytes left = in.first(static_cast<std::size_t>(v->info.bytes)).subspan(kHeaderBytes + shape_bytes(v->shape.axes));
  if (const Status s = take("codes", &left, v->info.count, &v->codes); s != Status::ok) return s;
  if (v->info.exceptions > 0)
    if (const Status s = take("map's numbers", &left, v->info.count, &v->map); s != Status::ok) return s;
  const std::uint64_t values = v->one_value ? 1 : v->info.exceptions,
                      bytes = values * static_cast<std::uint64_t>(value_bytes(v->info.type));
  if (left.size() != bytes)
    return fail(Status::corrupt_stream, "shaped stream: {} bytes of exact values, where {} should be", left.size(),
                bytes);
  v->values = reinterpret_cast<const std::uint8_t*>(left.data());
  return Status::ok;
}

}  // namespace shaped

Status inspect_shape(Bytes in, Shape* shape) noexcept {
  if (!shape) return fail(Status::invalid_argument, "inspect_shape: shape is null");
  *shape = {};
  shaped::View view;
  if (const Status s = inspect(in, &view.info); s != Status::ok || !shaped::is_shaped(in)) return s;
  if (const Status s = shaped::open(in, &view); s != Status::ok) return s;
  *shape = view.shape;
  return Status::ok;
}

}  // namespace stretto::codec
