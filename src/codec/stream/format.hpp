// Layout of a stream (docs/format.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "codec/codec.hpp"

namespace stretto::codec {

inline constexpr int kGroup = 1024;  // values
inline constexpr int kBlock = 32;    // values
inline constexpr int kBlocks = kGroup / kBlock;
inline constexpr int kChunk = 64;  // groups
inline constexpr std::size_t kHeaderBytes = 64;
inline constexpr std::size_t kMaxGroupWords = 65535;
inline constexpr std::uint64_t kMaxCount = std::uint64_t{1} << 48;
inline constexpr std::uint64_t kNarrowLimit = 0x7fffffff;        // largest code of a narrow group
inline constexpr std::uint64_t kCodeLimit = 0x7fffffffffffffff;  // largest code bound of a sum

inline constexpr std::uint64_t kSingleLimit = 1u << 24;  // largest code bound decoded in single precision
// Largest excess of a sum of groups without exceptions over both: word, base and slope, wider widths, two planes per
// block.
inline constexpr std::size_t kCombineSlack = 16 + 32 + 4 * 3 * kBlocks;

enum class Predictor : std::uint8_t { none_unsigned = 0, none_signed = 1, first = 2, second = 3 };
constexpr int order_of(Predictor p) noexcept { return p == Predictor::second ? 2 : p == Predictor::first ? 1 : 0; }
enum class Form : std::uint8_t { zero = 0, nibbles = 1, bytes = 2, masked_nibbles = 3, masked_bytes = 4, verbatim = 7 };

inline constexpr std::uint32_t kWideBit = 1u << 2, kShortBaseBit = 1u << 3, kExceptionsBit = 1u << 7;
inline constexpr std::uint32_t kVerbatimWord = 0x70;
inline constexpr std::uint8_t kUniformBit = 1, kSumsBit = 2, kRunsBit = 4, kQuietNanBit = 8;
inline constexpr std::uint32_t kNegativeBit = 1u << 16, kPlusInfBit = 1u << 17, kMinusInfBit = 1u << 18,
                               kNanBit = 1u << 19;

inline constexpr std::uint64_t kDenseBit = std::uint64_t{1} << 63;

// Unaligned little-endian access. inspect.cpp asserts a little-endian machine.
template <class T>
T load(const std::uint8_t* p) noexcept {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class T>
void store(std::uint8_t* p, T v) noexcept {
  std::memcpy(p, &v, sizeof v);
}

// The caller's values may begin at any address.
template <class T, class Index>
T element(const T* x, Index i) noexcept {
  return load<T>(reinterpret_cast<const std::uint8_t*>(x) + static_cast<std::size_t>(i) * sizeof(T));
}
template <class T, class Index>
void set_element(T* y, Index i, T v) noexcept {
  store(reinterpret_cast<std::uint8_t*>(y) + static_cast<std::size_t>(i) * sizeof(T), v);
}

constexpr std::uint64_t groups_of(std::uint64_t count) noexcept { return (count + kGroup - 1) / kGroup; }
constexpr std::uint64_t chunks_of(std::uint64_t groups) noexcept { return (groups + kChunk - 1) / kChunk; }

// Bytes of the lengths before a fixed chunk of a dense stream; `groups`: from that chunk to the end.
constexpr std::size_t length_bytes(std::uint64_t groups) noexcept {
  return (2 * (groups < kChunk ? groups : kChunk) + 3) / 4 * 4;
}

constexpr Type stored_type(Type t) noexcept { return t == Type::f16 || t == Type::bf16 ? Type::f32 : t; }
constexpr bool is_integer(Type t) noexcept { return t == Type::i32 || t == Type::i64; }
constexpr int value_bytes(Type t) noexcept { return t == Type::f64 || t == Type::i64 ? 8 : 4; }

// Fixed (version 1): one array of lengths before all groups. Dense (version 2): consecutive chunks; fixed chunks begin
// with their lengths.
struct Layout {
  std::uint64_t count, groups, chunks;
  std::size_t lengths;
  std::size_t body;
  Coding coding;
  explicit Layout(std::uint64_t n, Coding how = Coding::fixed) noexcept
      : count(n),
        groups(groups_of(n)),
        chunks(chunks_of(groups)),
        lengths(kHeaderBytes + 8 * chunks),
        body(how == Coding::dense ? lengths : lengths + (2 * groups + 7) / 8 * 8),
        coding(how) {}
  int group_size(std::uint64_t g) const noexcept {
    return g + 1 < groups ? kGroup : static_cast<int>(count - g * kGroup);
  }
};

// Header and index have been checked.
struct StreamView {
  Info info;
  Layout layout{0};
  const std::uint8_t* base = nullptr;
  std::uint64_t entry(std::uint64_t c) const noexcept { return load<std::uint64_t>(base + kHeaderBytes + 8 * c); }
  bool dense(std::uint64_t c) const noexcept { return layout.coding == Coding::dense && (entry(c) & kDenseBit); }
  std::uint64_t chunk_offset(std::uint64_t c) const noexcept {
    return layout.coding == Coding::dense ? entry(c) & ~kDenseBit : entry(c);
  }
  const std::uint8_t* end() const noexcept { return base + info.bytes; }
  const std::uint8_t* chunk(std::uint64_t c) const noexcept {
    return c < layout.chunks ? base + chunk_offset(c) : end();
  }
  // For chunks that are not dense.
  const std::uint8_t* lengths_of(std::uint64_t c) const noexcept {
    return layout.coding == Coding::dense ? chunk(c) : base + layout.lengths + 2 * kChunk * c;
  }
  const std::uint8_t* first_group(std::uint64_t c) const noexcept {
    return layout.coding == Coding::dense ? chunk(c) + length_bytes(layout.groups - c * kChunk) : chunk(c);
  }
  std::uint32_t words(std::uint64_t g) const noexcept {
    return load<std::uint16_t>(lengths_of(g / kChunk) + 2 * (g % kChunk));
  }
};

// Checks header and index, and with `checksum` the checksum, if present. `unsupported` for shaped streams.
Status open_stream(Bytes in, StreamView* view, bool checksum) noexcept;

Status check_checksum(const Info& info, const std::uint8_t* stream) noexcept;

// For a checksum the body must be complete.
void write_header(std::uint8_t* out, const Info& info, bool is_shaped = false) noexcept;

std::uint32_t crc32c(std::uint32_t crc, const std::uint8_t* p, std::size_t n) noexcept;

}  // namespace stretto::codec
