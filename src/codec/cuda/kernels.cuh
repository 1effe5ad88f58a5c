#pragma once

#include "codec/cuda/block_hardware.hpp"
#include "codec/cuda/dense/chunk_writer.hpp"

namespace stretto::codec::cuda {

// Without a helper. Codes or staged groups take 30 to 40 KB of shared memory.
constexpr int warps_of(bool float64, Scratch s) {
  return s == Scratch::chunk                    ? kChunkWarps
         : s == Scratch::staged                 ? 5
         : s >= Scratch::staged_sums || float64 ? 4
         : s == Scratch::selection              ? 6
                                                : 8;
}
template <class T, Scratch kScratch>
constexpr int kWarpsOf = warps_of(sizeof(T) == 8, kScratch);
// Without spills on any architecture except in sums (tests/codec/cuda/registers.py).
constexpr int blocks_per_multiprocessor(bool float64, Scratch s) {
  switch (s) {
    case Scratch::staged_sums: return 5;
    case Scratch::none:
    case Scratch::staged:
    case Scratch::staged_values: return 4;
    case Scratch::tables: return float64 ? 6 : 3;
    case Scratch::chunk: return 3;
    default: return 2;
  }
}

template <class T, class Op, Scratch kScratch>
__global__ void __launch_bounds__(32 * kWarpsOf<T, kScratch>, blocks_per_multiprocessor(sizeof(T) == 8, kScratch))
    write_kernel(Op op, Output output, u8* scratch) {
  using Block = HardwareBlock<Code<T>, kWarpsOf<T, kScratch>, true, kScratch>;
  __shared__ typename Block::Room room;
  __shared__ Op own;
  if (threadIdx.x == 0) own = op;
  __syncthreads();
  Block block(room, scratch);
  StreamWriter<Block, Op>(block, own, output).run();
}

template <class T, class Op>
__global__ void __launch_bounds__(32 * (kWarpsOf<float, Scratch::staged> + 1),
                                  blocks_per_multiprocessor(false, Scratch::staged))
    staged_kernel(Op op, Output output) {
  using Block = StagedBlock<kWarpsOf<float, Scratch::staged>>;
  __shared__ typename Block::Room room;
  __shared__ Op own;
  if (threadIdx.x == 0) own = op;
  __syncthreads();
  Block block(room);
  StagedWriter<Block, Op>(block, own, output).run();
}

template <class T, class Op, Scratch kScratch>
__global__ void __launch_bounds__(32 * (kWarpsOf<T, kScratch> + 1), blocks_per_multiprocessor(sizeof(T) == 8, kScratch))
    sum_kernel(Op op, Output output, u8* scratch) {
  using Block = SumBlock<Code<T>, kWarpsOf<T, kScratch>>;
  __shared__ typename Block::Room room;
  __shared__ Op own;
  if (threadIdx.x == 0) own = op;
  __syncthreads();
  Block block(room, scratch);
  SumWriter<Block, Op>(block, own, output).run();
}

template <class T, class Op>
__global__ void __launch_bounds__(32 * kChunkWarps, blocks_per_multiprocessor(false, Scratch::chunk))
    chunk_kernel(Op op, Output output, u8* scratch) {
  __shared__ ChunkBlock::Room room;
  __shared__ Op own;
  if (threadIdx.x == 0) own = op;
  __syncthreads();
  ChunkBlock block(room, scratch);
  dense::ChunkWriter<ChunkBlock, Op>(block, own, output).run();
}

struct NoBytes {
  STRETTO_DEVICE u64 operator()(Control*) const { return 0; }
};

template <class T, class Op, class Done, Scratch kScratch>
__global__ void __launch_bounds__(32 * kWarpsOf<T, kScratch>, blocks_per_multiprocessor(sizeof(T) == 8, kScratch))
    group_kernel(Op op, u64 count, Control* control, Result* result, Done done, u8* scratch) {
  using Block = HardwareBlock<Code<T>, kWarpsOf<T, kScratch>, kScratch == Scratch::tables, kScratch>;
  __shared__ typename Block::Room room;
  __shared__ Op own;
  if (threadIdx.x == 0) own = op;
  __syncthreads();
  Block block(room, scratch);
  each_group(block, own, count, control, result, done);
}

}  // namespace stretto::codec::cuda
