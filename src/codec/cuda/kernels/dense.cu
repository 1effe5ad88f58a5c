#include "codec/cuda/dense/to_dense.hpp"
#include "codec/cuda/dense/to_fixed.hpp"
#include "codec/cuda/launch.cuh"

namespace stretto::codec::cuda {

template <class T, class Op>
int launch_recode(const Arguments& a) {
  Op op{};
  op.s = a.a;
  op.count = a.count;
  op.type = a.type;
  return launch_chunk_writer<T>(a, op);
}

template <class T>
int launch_to_dense(const Arguments& a) {
  return launch_recode<T, dense::ToDense<HardwareWarp, T>>(a);
}
template int launch_to_dense<float>(const Arguments&);
template int launch_to_dense<double>(const Arguments&);

template <class T>
int launch_to_fixed(const Arguments& a) {
  return launch_recode<T, dense::ToFixed<HardwareWarp, T>>(a);
}
template int launch_to_fixed<float>(const Arguments&);
template int launch_to_fixed<double>(const Arguments&);

}  // namespace stretto::codec::cuda
