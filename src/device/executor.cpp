#include "device/executor.hpp"

#include "codec/numbers/grid.hpp"
#include "payload/arithmetic/arithmetic.hpp"

namespace stretto::device {

using codec::cuda::Arguments;
using codec::cuda::StreamOperation;
using payload::Buffer;
using payload::Stream;

namespace {

// Suffices for sums of streams without exceptions, however their codes widen. Many exceptions may end in
// buffer_too_small.
std::size_t sum_room(codec::Type type, std::size_t count) noexcept {
  constexpr std::size_t slack_of_group = 64;
  return 2 * codec::compress_bound(type, count) + (count / codec::cuda::kGroup + 1) * slack_of_group;
}

StreamOperation operation_of(codec::Combine op) noexcept {
  switch (op) {
    case codec::Combine::add: return StreamOperation::add;
    case codec::Combine::subtract: return StreamOperation::subtract;
    case codec::Combine::min: return StreamOperation::min;
    case codec::Combine::max: return StreamOperation::max;
  }
  return StreamOperation::add;
}

codec::cuda::StreamRef ref(const Stream& s) noexcept {
  return {reinterpret_cast<const codec::cuda::u8*>(s.buffer.data() + s.offset), s.size};
}

bool has_kernel(payload::Op op, payload::Type type) noexcept {
  return op != payload::Op::user && type <= payload::Type::f64 && payload::defined(op, type);
}

}  // namespace

Status check(const payload::Spec& spec, bool reduces) noexcept {
  if (reduces && spec.op == payload::Op::user)
    return fail(Status::unsupported, "a user's function cannot combine values in device memory");
  if (payload::traits(spec.kind).form == payload::Form::halves)
    return fail(Status::unsupported, "memory of a device has no payload {}", payload::name(spec.kind));
  if (payload::is_compressed(spec.kind)) {
    const auto type = payload::codec_type(spec.type);
    if (!type || *type == codec::Type::i32 || *type == codec::Type::i64)
      return fail(Status::unsupported, "{} has no streams on a device", payload::name(spec.type));
    if (spec.checksum) return fail(Status::unsupported, "a device neither writes nor verifies checksums");
  }
  if (reduces && !has_kernel(spec.op, spec.type))
    return fail(Status::unsupported, "{} of {} has no kernel on a device", payload::name(spec.op),
                payload::name(spec.type));
  return Status::ok;
}

void Executor::begin(const payload::Spec& spec, std::size_t lanes) noexcept {
  spec_ = spec;
  lanes_ = lanes;
  for (std::uint32_t i = 0; i < lanes; ++i) all_[i] = {&device_.pool(i), i};
  enter(all_[0]);
  type_ = payload::codec_type(spec.type).value_or(codec::Type::f32);
  open_ = 0;
  used_ = 0;
  failure_ = Status::ok;
}

std::size_t Executor::use_lane() noexcept {
  if (std::exchange(last_unit_, unit) != unit) static_cast<void>(mark_rest());  // an error has lost the device
  used_ |= 1u << lane_->number;
  return lane_->number;
}

Status Executor::mark(std::uint32_t lanes, LanePositions* after) noexcept {
  used_ &= ~lanes;
  return device_.mark(lanes, after);
}

Status Executor::mark_rest() noexcept {
  LanePositions ignored;
  return mark(used_, &ignored);
}

void Executor::ended(std::uint32_t unit, Status status, std::size_t) noexcept {
  --open_;
  if (status == Status::ok || failure_ != Status::ok) return;
  failure_ = status;
  failed_unit_ = unit;
}

Status Executor::failed(std::uint32_t* unit) const noexcept {
  if (failure_ == Status::ok) return Status::ok;
  *unit = failed_unit_;
  if (failure_ == Status::unsupported)
    return fail(failure_, "device {} met a stream of integers, a shaped one, or one that is not {} as all of this call",
                device_.number(), spec_.coding == codec::Coding::dense ? "dense" : "fixed");
  return fail(failure_, "the codec ended in {} on device {}", name(failure_), device_.number());
}

Status Executor::upload(const std::byte* from, std::size_t bytes, Buffer* to) noexcept {
  if (const Status s = pool().take(bytes, to); s != Status::ok) return s;
  return copy(to->data(), from, bytes);
}

Status Executor::launch(Arguments* a, const Buffer& out) noexcept {
  a->type = static_cast<codec::cuda::Type>(type_);
  const Status s = device_.launch(use_lane(), a, out, this, unit);
  open_ += s == Status::ok;
  return s;
}

Status Executor::write(Arguments* a, std::size_t capacity, Stream* made) noexcept {
  Buffer out;
  if (const Status s = pool().take(capacity, &out); s != Status::ok) return s;
  a->out = reinterpret_cast<codec::cuda::u8*>(out.data());
  a->capacity = capacity;
  if (const Status s = launch(a, out); s != Status::ok) return s;
  *made = {out, 0, capacity};
  return Status::ok;
}

Status Executor::coded(Stream fixed, std::size_t count, Stream* made) noexcept {
  if (spec_.coding != codec::Coding::dense) {
    *made = std::move(fixed);
    return Status::ok;
  }
  Arguments a{};
  a.operation = StreamOperation::to_dense;
  a.count = count;
  a.a = ref(fixed);
  return write(&a, fixed.size, made);
}

Status Executor::fixed(const Stream& stream, std::size_t count, Stream* made) noexcept {
  if (spec_.coding != codec::Coding::dense) {
    *made = stream;
    return Status::ok;
  }
  Arguments a{};
  a.operation = StreamOperation::to_fixed;
  a.count = count;
  a.a = ref(stream);
  // Exceptions take as many bytes as they do in the dense stream.
  return write(&a, stream.size + sum_room(type_, count), made);
}

Status Executor::compress(const std::byte* x, std::size_t count, double eps, Stream* made) noexcept {
  Arguments a{};
  a.operation = StreamOperation::compress;
  a.count = count;
  a.x = x;
  a.eps = eps;
  a.width = codec::grid_width(type_, eps, spec_.magnitude);
  Stream own;
  if (const Status s = write(&a, codec::compress_bound(type_, count), &own); s != Status::ok) return s;
  return coded(std::move(own), count, made);
}

Status Executor::decompress(const Stream& stream, std::byte* y, std::size_t count, std::uint32_t divisor) noexcept {
  Stream in;
  if (const Status s = fixed(stream, count, &in); s != Status::ok) return s;
  Arguments a{};
  a.operation = StreamOperation::decompress;
  a.count = count;
  a.a = ref(in);
  a.y = y;
  a.divisor = divisor;
  return launch(&a, {});
}

Status Executor::quantise(const std::byte* x, std::size_t count, Buffer* codes) noexcept {
  const std::size_t code = type_ == codec::Type::f64 ? sizeof(std::int64_t) : sizeof(std::int32_t);
  if (const Status s = pool().take(count * code, codes); s != Status::ok) return s;
  Arguments a{};
  a.operation = StreamOperation::quantise;
  a.count = count;
  a.x = x;
  a.y = codes->data();
  a.eps = spec_.eps;
  a.width = codec::grid_width(type_, spec_.eps, spec_.magnitude);
  return launch(&a, {});
}

// In two kernels, if codes are to be found apart (Spec::codes).
Status Executor::add_values(const Stream& s, const Buffer& codes, const std::byte* x, std::size_t count,
                            Stream* made) noexcept {
  Buffer found = codes;
  const bool apart = spec_.codes != payload::Codes::in_passing;
  if (apart && !found) {
    if (const Status q = quantise(x, count, &found); q != Status::ok) return q;
  }
  Stream in, sum;
  if (const Status f = fixed(s, count, &in); f != Status::ok) return f;
  Arguments a{};
  a.operation = apart ? StreamOperation::add_codes : StreamOperation::add_values;
  a.count = count;
  a.a = ref(in);
  a.x = x;
  if (apart) a.codes = found.data();
  if (const Status w = write(&a, sum_room(type_, count), &sum); w != Status::ok) return w;
  return coded(std::move(sum), count, made);
}

Status Executor::combine(codec::Combine op, const Stream& left, const Stream& right, std::size_t count,
                         Stream* made) noexcept {
  Stream a_in, b_in, sum;
  Status s = fixed(left, count, &a_in);
  if (s == Status::ok) s = fixed(right, count, &b_in);
  if (s != Status::ok) return s;
  Arguments a{};
  a.operation = operation_of(op);
  a.count = count;
  a.a = ref(a_in);
  a.b = ref(b_in);
  s = write(&a, sum_room(type_, count), &sum);
  return s == Status::ok ? coded(std::move(sum), count, made) : s;
}

Values Executor::values(payload::Type type, std::size_t count) noexcept {
  Values v{};
  v.type = static_cast<u32>(type);
  v.count = count;
  v.divisor = 1;
  v.stream = device_.stream(use_lane());
  return v;
}

Status Executor::combine_values(payload::Op op, payload::Type type, const void* left, const void* right, void* out,
                                std::size_t count) noexcept {
  Values v = values(type, count);
  v.operation = static_cast<u32>(op);
  v.left = left;
  v.right = right;
  v.out = out;
  return device_.check(device_.plugin().combine_values(v), "a combination");
}

Status Executor::negate_values(payload::Type type, const void* in, void* out, std::size_t count) noexcept {
  Values v = values(type, count);
  v.left = in;
  v.out = out;
  return device_.check(device_.plugin().negate_values(v), "a negation");
}

Status Executor::divide_values(payload::Type type, void* y, std::size_t count, std::uint32_t divisor) noexcept {
  Values v = values(type, count);
  v.left = v.out = y;
  v.divisor = divisor;
  return device_.check(device_.plugin().divide_values(v), "a division");
}

Status Executor::copy(void* to, const void* from, std::size_t bytes) noexcept {
  return device_.check(device_.plugin().copy(to, from, bytes, device_.stream(use_lane())), "a copy");
}

Status Executor::clear(void* to, std::size_t bytes) noexcept {
  return device_.check(device_.plugin().clear(to, bytes, device_.stream(use_lane())), "a clearing");
}

}  // namespace stretto::device
