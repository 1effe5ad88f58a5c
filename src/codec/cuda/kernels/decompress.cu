#include "codec/cuda/decompress.hpp"

#include "codec/cuda/launch.cuh"

namespace stretto::codec::cuda {

template <class T>
int launch_decompress(const Arguments& a) {
  Decompress<HardwareWarp, T> op{};
  op.s = a.a;
  op.y = a.y;
  op.type = a.type;
  op.count = a.count;
  op.divisor = a.divisor;
  return enqueue(a, [&](unsigned blocks, Control* control, u64*, u8* scratch, cudaStream_t stream) {
    return launch_kernel(group_kernel<T, decltype(op), NoBytes, Scratch::tables>, blocks,
                         32 * kWarpsOf<T, Scratch::tables>, stream, op, a.count, control, a.result, NoBytes{}, scratch);
  });
}
template int launch_decompress<float>(const Arguments&);
template int launch_decompress<double>(const Arguments&);

}  // namespace stretto::codec::cuda
