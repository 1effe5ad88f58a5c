#include "codec/cuda/launch.cuh"

namespace stretto::codec::cuda {

template <class T>
int launch_compress(const Arguments& a) {
  Compress<HardwareWarp, T> op{};
  op.x = {a.x, a.type};
  op.header = {a.type, 1, a.count, 0, 0, 0, a.eps, a.width};
  if constexpr (sizeof(T) == 4)
    return launch_staged_writer<T>(a, op);
  else
    return launch_writer<T, Scratch::none>(a, op);
}
template int launch_compress<float>(const Arguments&);
template int launch_compress<double>(const Arguments&);

}  // namespace stretto::codec::cuda
