// Kernels include no host code; tests/codec/cuda compares this with codec/stream/format.hpp.
#pragma once

#include "codec/cuda/device.hpp"

namespace stretto::codec::cuda {

constexpr int kGroup = 1024, kBlock = 32, kBlocks = 32, kChunk = 64;
constexpr u64 kHeaderBytes = 64;
constexpr u32 kMaxGroupWords = 65535;
constexpr u64 kMaxCount = u64{1} << 48;
constexpr u64 kNarrowLimit = 0x7fffffff;
constexpr u64 kCodeLimit = 0x7fffffffffffffff;
constexpr u64 kSingleLimit = u64{1} << 24;

enum class Predictor : u8 { none_unsigned = 0, none_signed = 1, first = 2, second = 3 };
enum class Form : u8 { zero = 0, nibbles = 1, bytes = 2, masked_nibbles = 3, masked_bytes = 4, verbatim = 7 };
enum class Type : u8 { f32 = 1, f64 = 2, f16 = 5, bf16 = 6 };  // integers have no kernels

constexpr u32 kWideBit = 1u << 2, kShortBaseBit = 1u << 3, kExceptionsBit = 1u << 7, kVerbatimWord = 0x70;
constexpr u32 kUniformBit = 1, kSumsBit = 2, kRunsBit = 4, kQuietNanBit = 8;
constexpr u32 kNegativeBit = 1u << 16, kPlusInfBit = 1u << 17, kMinusInfBit = 1u << 18, kNanBit = 1u << 19;

enum class Outcome : u32 {
  ok = 0,
  buffer_too_small = 3,
  corrupt_stream = 4,
  incompatible = 5,
  overflow = 6,
  unsupported = 7
};

struct Result {
  u64 bytes;  // the stream's length, or number of values written; 0 after a failure
  u32 outcome;
  u32 zero;
};

STRETTO_DEVICE Type stored_type(Type t) { return t == Type::f64 ? Type::f64 : Type::f32; }

struct Layout {
  u64 count, groups, chunks, lengths, body;
};
STRETTO_DEVICE Layout layout_of(u64 count) {
  Layout l;
  l.count = count;
  l.groups = (count + kGroup - 1) / kGroup;
  l.chunks = (l.groups + kChunk - 1) / kChunk;
  l.lengths = kHeaderBytes + 8 * l.chunks;
  l.body = l.lengths + (2 * l.groups + 7) / 8 * 8;
  return l;
}
STRETTO_DEVICE int group_size(const Layout& l, u64 g) {
  return g + 1 < l.groups ? kGroup : static_cast<int>(l.count - g * kGroup);
}

STRETTO_DEVICE u32 lanes_below(int b, int m) {
  const int n = m - b * kBlock;
  return n >= 32 ? ~0u : n <= 0 ? 0u : (1u << n) - 1;
}

constexpr u32 words_for(u32 bytes) { return (bytes + 3) / 4; }

}  // namespace stretto::codec::cuda
