#include "codec/cuda/select.hpp"

#include "codec/cuda/launch.cuh"

namespace stretto::codec::cuda {

template <class T>
int launch_select(const Arguments& a) {
  Select<HardwareWarp, T> op;
  op.a = a.a;
  op.b = a.b;
  op.count = a.count;
  op.maximum = a.operation == StreamOperation::max;
  return launch_writer<T, Scratch::selection>(a, op);
}
template int launch_select<float>(const Arguments&);
template int launch_select<double>(const Arguments&);

}  // namespace stretto::codec::cuda
