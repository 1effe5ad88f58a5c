// The kernels: one template for what writes a stream, one for what does not. See tile.hpp.
#pragma once

#include "codec/cuda/block_hardware.hpp"

namespace stretto::codec::cuda {

// Warps in a block: for either type their codes take a third of 100 KB of shared memory.
template <class T>
constexpr int kWarpsOf = sizeof(T) == 4 ? 8 : 4;
// Blocks that a multiprocessor holds: registers and shared memory are kept small enough for as many. Sums have two
// groups at hand.
constexpr int blocks_per_multiprocessor(Scratch s) { return s < Scratch::sums ? 4 : 2; }

template <class T, class Op, Scratch kScratch>
__global__ void __launch_bounds__(32 * kWarpsOf<T>, blocks_per_multiprocessor(kScratch))
    write_kernel(Op op, Output output, u8* scratch) {
  using Block = HardwareBlock<Code<T>, kWarpsOf<T>, true, kScratch>;
  __shared__ typename Block::Room room;
  __shared__ Op own;
  if (threadIdx.x == 0) own = op;
  __syncthreads();
  Block block(room, scratch);
  StreamWriter<Block, Op>(block, own, output).run();
}

// Bytes that an operation which writes no stream reports.
struct NoBytes {
  STRETTO_DEVICE u64 operator()(Control*) const { return 0; }
};

template <class T, class Op, class Done, Scratch kScratch>
__global__ void __launch_bounds__(32 * kWarpsOf<T>, blocks_per_multiprocessor(kScratch))
    group_kernel(Op op, u64 count, Control* control, Result* result, Done done, u8* scratch) {
  using Block = HardwareBlock<Code<T>, kWarpsOf<T>, false, kScratch>;
  __shared__ typename Block::Room room;
  __shared__ Op own;
  if (threadIdx.x == 0) own = op;
  __syncthreads();
  Block block(room, scratch);
  each_group(block, own, count, control, result, done);
}

}  // namespace stretto::codec::cuda
