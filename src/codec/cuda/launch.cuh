#pragma once

#include "codec/cuda/kernels.cuh"
#include "codec/cuda/operation.hpp"

namespace stretto::codec::cuda {

template <class T>
int launch_compress(const Arguments& a);
template <class T>
int launch_decompress(const Arguments& a);
template <class T>
int launch_add(const Arguments& a);
template <class T>
int launch_add_values(const Arguments& a);
template <class T>
int launch_select(const Arguments& a);
template <class T>
int launch_quantise(const Arguments& a);
template <class T>
int launch_range(const Arguments& a);
template <class T>
int launch_to_dense(const Arguments& a);
template <class T>
int launch_to_fixed(const Arguments& a);

inline Scratch scratch_of(StreamOperation o, Type type) {
  switch (o) {
    case StreamOperation::compress: return type == Type::f64 ? Scratch::none : Scratch::staged;
    case StreamOperation::quantise:
    case StreamOperation::range: return Scratch::none;
    case StreamOperation::decompress: return Scratch::tables;
    case StreamOperation::add:
    case StreamOperation::subtract: return Scratch::staged_sums;
    case StreamOperation::add_values:
    case StreamOperation::add_codes: return Scratch::staged_values;
    case StreamOperation::min:
    case StreamOperation::max: return Scratch::selection;
    case StreamOperation::to_dense:
    case StreamOperation::to_fixed: return Scratch::chunk;
  }
  return Scratch::selection;
}

struct Room {
  u64 blocks, zeroed, bytes;
};
inline int plan_room(StreamOperation operation, Type type, u64 count, Room* r) {
  int device = 0, multiprocessors = 0;
  if (const int e = cudaGetDevice(&device)) return e;
  if (const int e = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device)) return e;
  const Scratch scratch = scratch_of(operation, type);
  const u64 warps = static_cast<u64>(warps_of(type == Type::f64, scratch)), groups = (count + kGroup - 1) / kGroup,
            of_tile = scratch == Scratch::chunk ? kChunk : warps, tiles = (groups + of_tile - 1) / of_tile,
            most = static_cast<u64>(multiprocessors) *
                   static_cast<u64>(blocks_per_multiprocessor(type == Type::f64, scratch));
  r->blocks = tiles < 1 ? 1 : tiles < most ? tiles : most;
  r->zeroed = (sizeof(Control) + 8 * tiles + 15) / 16 * 16;
  r->bytes = r->zeroed + r->blocks * warps * scratch_bytes(scratch);
  return 0;
}

// This launch's error; an earlier error of other code stays.
template <class... Parameter, class... Argument>
int launch_kernel(void (*kernel)(Parameter...), unsigned blocks, int threads, cudaStream_t stream,
                  const Argument&... argument) {
  cudaLaunchConfig_t configuration{};
  configuration.gridDim = dim3(blocks);
  configuration.blockDim = dim3(static_cast<unsigned>(threads));
  configuration.stream = stream;
  return cudaLaunchKernelEx(&configuration, kernel, Parameter(argument)...);
}

// start(blocks, control, descriptors, scratch, stream) is called between clearing counters and copying the result.
template <class Start>
int enqueue(const Arguments& a, Start start) {
  Room room;
  if (const int e = plan_room(a.operation, a.type, a.count, &room)) return e;
  const auto stream = static_cast<cudaStream_t>(a.stream);
  u8* p = static_cast<u8*>(a.workspace);
  if (const int e = cudaMemsetAsync(p, 0, room.zeroed, stream)) return e;
  if (const int e = start(static_cast<unsigned>(room.blocks), reinterpret_cast<Control*>(p),
                          reinterpret_cast<u64*>(p + sizeof(Control)), p + room.zeroed, stream))
    return e;
  if (!a.host_result) return 0;
  return cudaMemcpyAsync(a.host_result, a.result, sizeof(Result), cudaMemcpyDeviceToHost, stream);
}

template <class T, Scratch kScratch, class Op>
int launch_writer(const Arguments& a, const Op& op) {
  return enqueue(a, [&](unsigned blocks, Control* control, u64* descriptors, u8* scratch, cudaStream_t stream) {
    const Output out{a.out, a.capacity, a.count, control, descriptors, a.result};
    return launch_kernel(write_kernel<T, Op, kScratch>, blocks, 32 * kWarpsOf<T, kScratch>, stream, op, out, scratch);
  });
}

template <class T, Scratch kScratch, class Op>
int launch_sum_writer(const Arguments& a, const Op& op) {
  return enqueue(a, [&](unsigned blocks, Control* control, u64* descriptors, u8* scratch, cudaStream_t stream) {
    const Output out{a.out, a.capacity, a.count, control, descriptors, a.result};
    return launch_kernel(sum_kernel<T, Op, kScratch>, blocks, 32 * (kWarpsOf<T, kScratch> + 1), stream, op, out,
                         scratch);
  });
}

template <class T, class Op>
int launch_staged_writer(const Arguments& a, const Op& op) {
  return enqueue(a, [&](unsigned blocks, Control* control, u64* descriptors, u8*, cudaStream_t stream) {
    const Output out{a.out, a.capacity, a.count, control, descriptors, a.result};
    return launch_kernel(staged_kernel<T, Op>, blocks, 32 * (kWarpsOf<float, Scratch::staged> + 1), stream, op, out);
  });
}

template <class T, class Op>
int launch_chunk_writer(const Arguments& a, const Op& op) {
  return enqueue(a, [&](unsigned blocks, Control* control, u64* descriptors, u8* scratch, cudaStream_t stream) {
    const Output out{a.out, a.capacity, a.count, control, descriptors, a.result};
    return launch_kernel(chunk_kernel<T, Op>, blocks, 32 * kChunkWarps, stream, op, out, scratch);
  });
}

}  // namespace stretto::codec::cuda
