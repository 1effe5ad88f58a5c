#include "codec/cuda/decompress.hpp"
#include "codec/cuda/launch.cuh"

namespace stretto::codec::cuda {

template <class T>
int launch_quantise(const Arguments& a) {
  Quantise<HardwareWarp, T> op{};
  op.x = {a.x, a.type};
  op.count = a.count;
  op.eps = a.eps;
  op.width = a.width;
  op.q = static_cast<Code<T>*>(a.y);
  return enqueue(a, [&](unsigned blocks, Control* control, u64*, u8* scratch, cudaStream_t stream) {
    return launch_kernel(group_kernel<T, decltype(op), NoBytes, Scratch::none>, blocks, 32 * kWarpsOf<T, Scratch::none>,
                         stream, op, a.count, control, a.result, NoBytes{}, scratch);
  });
}
template int launch_quantise<float>(const Arguments&);
template int launch_quantise<double>(const Arguments&);

// Infinite if no value counts. Returns the number left out.
struct PutRange {
  double* out;
  STRETTO_DEVICE u64 operator()(Control* c) const {
    const u64 low = HardwareWarp::read(&c->range[0]), high = HardwareWarp::read(&c->range[1]);
    constexpr u64 infinity = u64{0x7ff} << 52;
    out[0] = low ? unordered(~low) : double_of(infinity);
    out[1] = high ? unordered(high) : double_of(infinity | u64{1} << 63);
    return HardwareWarp::read(&c->range[2]);
  }
};

template <class T>
int launch_range(const Arguments& a) {
  return enqueue(a, [&](unsigned blocks, Control* control, u64*, u8* scratch, cudaStream_t stream) {
    Range<HardwareWarp, T> op{};
    op.x = {a.x, a.type};
    op.count = a.count;
    op.above = a.above;
    op.found = control->range;
    return launch_kernel(group_kernel<T, decltype(op), PutRange, Scratch::none>, blocks,
                         32 * kWarpsOf<T, Scratch::none>, stream, op, a.count, control, a.result,
                         PutRange{static_cast<double*>(a.y)}, scratch);
  });
}
template int launch_range<float>(const Arguments&);
template int launch_range<double>(const Arguments&);

}  // namespace stretto::codec::cuda
