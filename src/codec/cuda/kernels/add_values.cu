#include "codec/cuda/add_values.hpp"

#include "codec/cuda/launch.cuh"

namespace stretto::codec::cuda {

template <class T>
int launch_add_values(const Arguments& a) {
  AddValues<HardwareWarp, T> op;
  op.a = a.a;
  op.x = {a.x, a.type};
  op.count = a.count;
  op.quantised = a.operation == StreamOperation::add_codes ? static_cast<const Code<T>*>(a.codes) : nullptr;
  return launch_sum_writer<T, Scratch::staged_values>(a, op);
}
template int launch_add_values<float>(const Arguments&);
template int launch_add_values<double>(const Arguments&);

}  // namespace stretto::codec::cuda
