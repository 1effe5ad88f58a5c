// A plugin whose device is this process: kernels run on emulated warps, in host memory. So the core's side of the GPU,
// from the C functions to the plugin's table, is tested where there is no GPU. STRETTO_EMULATED_DEVICES and
// STRETTO_EMULATED_VERSION make it lack a device, or be another's.
#include <cstdlib>
#include <memory>

#include "codec/cuda/add.hpp"
#include "codec/cuda/add_values.hpp"
#include "codec/cuda/block_emulated.hpp"
#include "codec/cuda/decompress.hpp"
#include "codec/cuda/plugin.hpp"
#include "codec/cuda/select.hpp"

namespace stretto::codec::cuda {
namespace {

using W = EmulatedWarp;

int number(const char* name, int otherwise) {
  const char* v = std::getenv(name);
  return v ? std::atoi(v) : otherwise;
}

const char* error_text(int) { return "an emulated error"; }

int device_count(int* count) {
  *count = number("STRETTO_EMULATED_DEVICES", 1);
  return 0;
}

// An address at 64 modulo 128 counts as one that the device cannot use.
int memory_kind(const void* p, MemoryKind* kind) {
  *kind = reinterpret_cast<std::uintptr_t>(p) % 128 == 64 ? MemoryKind::host : MemoryKind::device;
  return 0;
}

u64 zeroed_bytes(u64 count) { return sizeof(Control) + 8 * (layout_of(count).groups + 1); }

int workspace_bytes(StreamOperation, Type, u64 count, u64* bytes) {
  *bytes = zeroed_bytes(count);
  return 0;
}

template <class T, class Op>
void write(const Arguments& a, const Op& op, Control* control) {
  const Output out{a.out, a.capacity, a.count, control, reinterpret_cast<u64*>(control + 1), a.result};
  for (u64 i = 0; i < 2; ++i) {
    const auto block = std::make_unique<EmulatedBlock<Code<T>, 4>>(i, 2);
    Op own = op;
    StreamWriter<EmulatedBlock<Code<T>, 4>, Op>(*block, own, out).run();
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
    case StreamOperation::range:
      run<T>(a, Range<W, T>{{a.x, a.type}, a.count, control->range}, control, [&](Control* c) {
        auto* out = static_cast<double*>(a.y);
        out[0] = unordered(~c->range[0]);
        out[1] = unordered(c->range[1]);
        return u64{0};
      });
      return 0;
  }
  return 1;
}

int launch(const Arguments& a) {
  std::memset(a.workspace, 0, zeroed_bytes(a.count));
  auto* control = static_cast<Control*>(a.workspace);
  const int e = a.type == Type::f64 ? launch_as<double>(a, control) : launch_as<float>(a, control);
  if (e == 0 && a.host_result) *a.host_result = *a.result;
  return e;
}

}  // namespace
}  // namespace stretto::codec::cuda

extern "C" __attribute__((visibility("default"))) const stretto::codec::cuda::Plugin* stretto_cuda_plugin() {
  using namespace stretto::codec::cuda;
  static const Plugin plugin = {static_cast<u32>(number("STRETTO_EMULATED_VERSION", kPluginVersion)),
                                error_text,
                                device_count,
                                memory_kind,
                                workspace_bytes,
                                launch};
  return &plugin;
}
