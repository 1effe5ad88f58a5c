#include "stretto/stretto_cuda.h"

#include <cmath>
#include <limits>

#include "call/enums.hpp"
#include "codec/codec.hpp"
#include "codec/numbers/grid.hpp"
#include "device/loader.hpp"
#include "device/memory_kind.hpp"

using namespace stretto;
namespace cuda = stretto::codec::cuda;
using call::to_c;
using cuda::StreamOperation;

static_assert(sizeof(stretto_cuda_result) == sizeof(cuda::Result));
static_assert(int(STRETTO_CUDA_TO_FIXED) == int(StreamOperation::to_fixed) &&
              int(STRETTO_CUDA_ADD_CODES) == int(StreamOperation::add_codes));
static_assert(int(STRETTO_MEMORY_PINNED) == int(device::MemoryKind::pinned));

namespace {

Status cuda_failed(const device::Plugin& p, int error) {
  return fail(Status::internal, "CUDA error {}: {}", error, p.error_text(error));
}

Status memory_of(const device::Plugin& p, const void* pointer, device::MemoryKind* kind) {
  device::Location where{};
  const Status s = device::locate(p, pointer, &where);
  *kind = where.kind;
  return s;
}

Status check_values(stretto_type type, std::size_t count) {
  if (!call::is_type(type)) return fail(Status::invalid_argument, "type {} is no stretto_type", int(type));
  if (type != STRETTO_F32 && type != STRETTO_F64 && type != STRETTO_F16 && type != STRETTO_BF16)
    return fail(Status::unsupported, "type {} has no kernels on the GPU", call::type_name(type));
  if (count > cuda::kMaxCount) return fail(Status::invalid_argument, "count {} exceeds 2^48", count);
  return Status::ok;
}

class PluginCall {
 public:
  PluginCall(StreamOperation operation, stretto_type type, std::size_t count, const stretto_cuda_call* call)
      : call_(call) {
    arguments_.operation = operation;
    arguments_.count = count;
    status_ = check_values(type, count);
    if (status_ == Status::ok && (!call || call->size < sizeof(stretto_cuda_call)))
      status_ = fail(Status::invalid_argument, "call is {}", call ? "of another size" : "NULL");
    if (status_ == Status::ok) status_ = device::find_plugin(&plugin_);
    arguments_.type = static_cast<cuda::Type>(type);
  }

  cuda::Arguments& arguments() { return arguments_; }
  std::size_t value_bytes() const { return codec::size_of(static_cast<codec::Type>(arguments_.type)); }

  // The device can use the pointer, a multiple of `alignment`; NULL passes unless `needed`.
  template <class T>
  T* device(T* p, const char* what, std::size_t alignment, bool needed = true) {
    if (status_ != Status::ok || (!p && !needed)) return p;
    device::MemoryKind kind{};
    if (!p)
      status_ = fail(Status::invalid_argument, "{} is NULL", what);
    else if (reinterpret_cast<std::uintptr_t>(p) % alignment)
      status_ = fail(Status::invalid_argument, "{} is not at a multiple of {} bytes", what, alignment);
    else if (status_ = memory_of(*plugin_, p, &kind); status_ == Status::ok && kind == device::MemoryKind::host)
      status_ = fail(Status::invalid_argument, "{} is in host memory that the device cannot use", what);
    return p;
  }
  cuda::StreamRef stream(const void* p, std::size_t bytes, const char* what) {
    return {static_cast<const cuda::u8*>(device(p, what, 8)), bytes};
  }
  const void* values(const void* p) { return device(p, "values", value_bytes(), arguments_.count != 0); }
  void output(void* out, std::size_t capacity) {
    arguments_.out = static_cast<cuda::u8*>(device(out, "out", 8));
    arguments_.capacity = capacity;
    const cuda::Layout layout = cuda::layout_of(arguments_.count);
    const std::uint64_t index = arguments_.operation == StreamOperation::to_dense ? layout.lengths : layout.body;
    if (status_ == Status::ok && capacity < index)
      status_ =
          fail(Status::buffer_too_small, "an output of {} bytes is too small for the index of {}", capacity, index);
  }
  void bound(double eps) {
    arguments_.eps = eps;
    if (status_ == Status::ok && !(std::isfinite(eps) && eps > 0))
      status_ = fail(Status::invalid_bound, "the bound {} is not a positive finite number", eps);
    if (status_ == Status::ok) arguments_.width = codec::grid_width(static_cast<codec::Type>(arguments_.type), eps, 0);
  }
  void below(double ignore_above) {
    arguments_.above = ignore_above == 0 ? codec::kIgnoreAbove : ignore_above;
    if (status_ == Status::ok && !(ignore_above >= 0))
      status_ = fail(Status::invalid_argument, "ignore_above is {}; 0 or more", ignore_above);
  }
  void require(bool holds, const char* what) {
    if (status_ == Status::ok && !holds) status_ = fail(Status::invalid_argument, "{}", what);
  }

  stretto_status launch() {
    if (status_ == Status::ok) {
      arguments_.workspace = device(call_->workspace, "workspace", 16);
      arguments_.result = reinterpret_cast<cuda::Result*>(device(call_->result, "result", 8));
      // A copy to memory that is not pinned would wait for the stream.
      arguments_.host_result =
          reinterpret_cast<cuda::Result*>(device(call_->host_result, "host_result", 8, call_->host_result != nullptr));
      arguments_.stream = call_->stream;
    }
    std::uint64_t needed = 0;
    if (status_ == Status::ok)
      if (const int e = plugin_->workspace_bytes(arguments_.operation, arguments_.type, arguments_.count, &needed))
        status_ = cuda_failed(*plugin_, e);
    if (status_ == Status::ok && call_->workspace_bytes < needed)
      status_ =
          fail(Status::buffer_too_small, "a workspace of {} bytes is smaller than {}", call_->workspace_bytes, needed);
    if (status_ == Status::ok)
      if (const int e = plugin_->launch(arguments_)) status_ = cuda_failed(*plugin_, e);
    return to_c(status_);
  }

 private:
  const stretto_cuda_call* call_;
  const device::Plugin* plugin_ = nullptr;
  cuda::Arguments arguments_{};
  Status status_ = Status::ok;
};

}  // namespace

extern "C" {

stretto_status stretto_cuda_available(void) {
  const device::Plugin* p = nullptr;
  return to_c(device::find_plugin(&p));
}

stretto_status stretto_cuda_memory(const void* p, stretto_memory* kind) {
  if (!kind) return to_c(fail(Status::invalid_argument, "kind is NULL"));
  const device::Plugin* plugin = nullptr;
  if (const Status s = device::find_plugin(&plugin); s != Status::ok) return to_c(s);
  device::MemoryKind found{};
  const Status s = memory_of(*plugin, p, &found);
  *kind = static_cast<stretto_memory>(found);
  return to_c(s);
}

stretto_status stretto_cuda_assume_memory(stretto_memory kind) {
  if (kind < STRETTO_MEMORY_HOST || kind > STRETTO_MEMORY_DETECT)
    return to_c(fail(Status::invalid_argument, "{} is no stretto_memory", int(kind)));
  const auto as = static_cast<device::MemoryKind>(kind);
  device::assume(kind == STRETTO_MEMORY_DETECT ? nullptr : &as);
  return STRETTO_OK;
}

stretto_status stretto_cuda_workspace(stretto_cuda_operation operation, stretto_type type, size_t count,
                                      size_t* bytes) {
  if (!bytes) return to_c(fail(Status::invalid_argument, "bytes is NULL"));
  *bytes = 0;
  if (operation < STRETTO_CUDA_COMPRESS || operation > STRETTO_CUDA_TO_FIXED)
    return to_c(fail(Status::invalid_argument, "{} is no stretto_cuda_operation", int(operation)));
  if (const Status s = check_values(type, count); s != Status::ok) return to_c(s);
  const device::Plugin* plugin = nullptr;
  if (const Status s = device::find_plugin(&plugin); s != Status::ok) return to_c(s);
  std::uint64_t needed = 0;
  if (const int e = plugin->workspace_bytes(static_cast<StreamOperation>(operation), static_cast<cuda::Type>(type),
                                            count, &needed))
    return to_c(cuda_failed(*plugin, e));
  *bytes = needed;
  return STRETTO_OK;
}

stretto_status stretto_compress_on_stream(stretto_type type, const void* values, size_t count, double eps, void* out,
                                          size_t capacity, const stretto_cuda_call* call) {
  PluginCall c(StreamOperation::compress, type, count, call);
  c.arguments().x = c.values(values);
  c.bound(eps);
  c.output(out, capacity);
  return c.launch();
}

stretto_status stretto_decompress_on_stream(stretto_type type, const void* stream, size_t bytes, void* values,
                                            size_t count, uint32_t divisor, const stretto_cuda_call* call) {
  PluginCall c(StreamOperation::decompress, type, count, call);
  c.arguments().a = c.stream(stream, bytes, "stream");
  c.arguments().y = const_cast<void*>(c.values(values));
  c.arguments().divisor = divisor;
  c.require(divisor != 0, "divisor is 0");
  return c.launch();
}

stretto_status stretto_combine_on_stream(stretto_cuda_operation operation, stretto_type type, const void* a,
                                         size_t a_bytes, const void* b, size_t b_bytes, size_t count, void* out,
                                         size_t capacity, const stretto_cuda_call* call) {
  PluginCall c(static_cast<StreamOperation>(operation), type, count, call);
  c.require(operation >= STRETTO_CUDA_ADD && operation <= STRETTO_CUDA_MAX, "the operation combines no streams");
  c.arguments().a = c.stream(a, a_bytes, "a");
  c.arguments().b = c.stream(b, b_bytes, "b");
  c.output(out, capacity);
  return c.launch();
}

stretto_status stretto_add_values_on_stream(stretto_type type, const void* a, size_t a_bytes, const void* values,
                                            size_t count, void* out, size_t capacity, const stretto_cuda_call* call) {
  PluginCall c(StreamOperation::add_values, type, count, call);
  c.arguments().a = c.stream(a, a_bytes, "a");
  c.arguments().x = c.values(values);
  c.output(out, capacity);
  return c.launch();
}

stretto_status stretto_quantise_on_stream(stretto_type type, const void* values, size_t count, double eps, void* codes,
                                          const stretto_cuda_call* call) {
  PluginCall c(StreamOperation::quantise, type, count, call);
  c.arguments().x = c.values(values);
  c.arguments().y = c.device(codes, "codes", type == STRETTO_F64 ? 8 : 4, count != 0);
  c.bound(eps);
  return c.launch();
}

stretto_status stretto_add_codes_on_stream(stretto_type type, const void* a, size_t a_bytes, const void* codes,
                                           const void* values, size_t count, void* out, size_t capacity,
                                           const stretto_cuda_call* call) {
  PluginCall c(StreamOperation::add_codes, type, count, call);
  c.arguments().a = c.stream(a, a_bytes, "a");
  c.arguments().codes = c.device(codes, "codes", type == STRETTO_F64 ? 8 : 4, count != 0);
  c.arguments().x = c.values(values);
  c.output(out, capacity);
  return c.launch();
}

stretto_status stretto_recode_on_stream(stretto_type type, stretto_coding coding, const void* stream, size_t bytes,
                                        size_t count, void* out, size_t capacity, const stretto_cuda_call* call) {
  PluginCall c(coding == STRETTO_CODING_DENSE ? StreamOperation::to_dense : StreamOperation::to_fixed, type, count,
               call);
  c.require(coding == STRETTO_CODING_DENSE || coding == STRETTO_CODING_FIXED, "coding is neither dense nor fixed");
  c.arguments().a = c.stream(stream, bytes, "stream");
  c.output(out, capacity);
  return c.launch();
}

stretto_status stretto_value_range_on_stream(stretto_type type, const void* values, size_t count, double* range,
                                             const stretto_cuda_call* call) {
  return stretto_value_range_below_on_stream(type, values, count, std::numeric_limits<double>::infinity(), range, call);
}

stretto_status stretto_value_range_below_on_stream(stretto_type type, const void* values, size_t count,
                                                   double ignore_above, double* range, const stretto_cuda_call* call) {
  PluginCall c(StreamOperation::range, type, count, call);
  c.arguments().x = c.values(values);
  c.arguments().y = c.device(range, "range", 8);
  c.below(ignore_above);
  return c.launch();
}
}
