#include "codec/cuda/add.hpp"

#include "codec/cuda/launch.cuh"

namespace stretto::codec::cuda {

template <class T>
int launch_add(const Arguments& a) {
  AddStreams<HardwareWarp, T> op;
  op.a = a.a;
  op.b = a.b;
  op.count = a.count;
  op.negate = a.operation == StreamOperation::subtract;
  return launch_sum_writer<T, Scratch::staged_sums>(a, op);
}
template int launch_add<float>(const Arguments&);
template int launch_add<double>(const Arguments&);

}  // namespace stretto::codec::cuda
