// Kernels of the emulated device: those of the GPU, on emulated warps.
#include "emulated_kernels.hpp"

#include <limits>
#include <memory>

#include "codec/cuda/add.hpp"
#include "codec/cuda/add_values.hpp"
#include "codec/cuda/block_emulated.hpp"
#include "codec/cuda/decompress.hpp"
#include "codec/cuda/dense/to_dense.hpp"
#include "codec/cuda/dense/to_fixed.hpp"
#include "codec/cuda/select.hpp"

namespace stretto::codec::cuda {
namespace {

using W = EmulatedWarp;

u64 zeroed_bytes(u64 count) { return sizeof(Control) + 8 * (layout_of(count).groups + 1); }

template <class T, class Op>
void write(const Arguments& a, const Op& op, Control* control) {
  const Output out{a.out, a.capacity, a.count, control, reinterpret_cast<u64*>(control + 1), a.result};
  for (u64 i = 0; i < 2; ++i) {
    const auto block = std::make_unique<EmulatedBlock<Code<T>, 4>>(i, 2);
    Op own = op;
    StreamWriter<EmulatedBlock<Code<T>, 4>, Op>(*block, own, out).run();
  }
}

template <class Op>
void recode(const Arguments& a, Control* control) {
  const Output out{a.out, a.capacity, a.count, control, reinterpret_cast<u64*>(control + 1), a.result};
  for (u64 i = 0; i < 2; ++i) {
    const auto block = std::make_unique<EmulatedBlock<u32, 4>>(i, 2);
    Op op{};
    op.s = a.a;
    op.count = a.count;
    op.type = a.type;
    dense::ChunkWriter<EmulatedBlock<u32, 4>, Op>(*block, op, out).run();
  }
}

template <class T, class Op, class Done>
void run(const Arguments& a, const Op& op, Control* control, Done done) {
  for (u64 i = 0; i < 2; ++i) {
    const auto block = std::make_unique<EmulatedBlock<Code<T>, 4>>(i, 2);
    Op own = op;
    each_group(*block, own, a.count, control, a.result, done);
  }
}

template <class T>
int launch_as(const Arguments& a, Control* control) {
  const auto nothing = [](Control*) { return u64{0}; };
  switch (a.operation) {
    case StreamOperation::compress: {
      Compress<W, T> op;
      op.x = {a.x, a.type};
      op.header = {a.type, 1, a.count, 0, 0, 0, a.eps, a.width};
      write<T>(a, op, control);
      return 0;
    }
    case StreamOperation::decompress: {
      Decompress<W, T> op;
      op.s = a.a;
      op.y = a.y;
      op.type = a.type;
      op.count = a.count;
      op.divisor = a.divisor;
      run<T>(a, op, control, nothing);
      return 0;
    }
    case StreamOperation::add:
    case StreamOperation::subtract: {
      AddStreams<W, T> op;
      op.a = a.a;
      op.b = a.b;
      op.count = a.count;
      op.negate = a.operation == StreamOperation::subtract;
      write<T>(a, op, control);
      return 0;
    }
    case StreamOperation::min:
    case StreamOperation::max: {
      Select<W, T> op;
      op.a = a.a;
      op.b = a.b;
      op.count = a.count;
      op.maximum = a.operation == StreamOperation::max;
      write<T>(a, op, control);
      return 0;
    }
    case StreamOperation::add_values:
    case StreamOperation::add_codes: {
      AddValues<W, T> op;
      op.a = a.a;
      op.x = {a.x, a.type};
      op.count = a.count;
      op.quantised = a.operation == StreamOperation::add_codes ? static_cast<const Code<T>*>(a.codes) : nullptr;
      write<T>(a, op, control);
      return 0;
    }
    case StreamOperation::quantise: {
      Quantise<W, T> op;
      op.x = {a.x, a.type};
      op.count = a.count;
      op.eps = a.eps;
      op.width = a.width;
      op.q = static_cast<Code<T>*>(a.y);
      run<T>(a, op, control, nothing);
      return 0;
    }
    case StreamOperation::range: {
      Range<W, T> op{};
      op.x = {a.x, a.type};
      op.count = a.count;
      op.above = a.above;
      op.found = control->range;
      run<T>(a, op, control, [&](Control* c) {
        auto* out = static_cast<double*>(a.y);
        constexpr double infinity = std::numeric_limits<double>::infinity();
        out[0] = c->range[0] ? unordered(~c->range[0]) : infinity;
        out[1] = c->range[1] ? unordered(c->range[1]) : -infinity;
        return c->range[2];
      });
      return 0;
    }
    case StreamOperation::to_dense: recode<dense::ToDense<W, T>>(a, control); return 0;
    case StreamOperation::to_fixed: recode<dense::ToFixed<W, T>>(a, control); return 0;
  }
  return 1;
}

}  // namespace

u64 emulated_workspace_bytes(u64 count) { return zeroed_bytes(count); }

int run_emulated(const Arguments& a) {
  std::memset(a.workspace, 0, zeroed_bytes(a.count));
  auto* control = static_cast<Control*>(a.workspace);
  return a.type == Type::f64 ? launch_as<double>(a, control) : launch_as<float>(a, control);
}

}  // namespace stretto::codec::cuda
