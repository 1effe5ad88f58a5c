#include "codec/cuda/dense/to_dense.hpp"
#include "codec/cuda/dense/to_fixed.hpp"
#include "codec/cuda/launch.cuh"

namespace stretto::codec::cuda {

template <class T>
int launch_to_dense(const Arguments& a) {
  dense::ToDense<HardwareWarp, T> op{};
  op.s = a.a;
  op.count = a.count;
  op.type = a.type;
  return launch_chunk_writer<T>(a, op);
}
template int launch_to_dense<float>(const Arguments&);
template int launch_to_dense<double>(const Arguments&);

template <class T>
int launch_to_fixed(const Arguments& a) {
  dense::ToFixed<HardwareWarp, T> op{};
  op.s = a.a;
  op.count = a.count;
  op.type = a.type;
  return launch_chunk_writer<T>(a, op);
}
template int launch_to_fixed<float>(const Arguments&);
template int launch_to_fixed<double>(const Arguments&);

}  // namespace stretto::codec::cuda
