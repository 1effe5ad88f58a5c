#include "codec/dense/reader.hpp"

#include "codec/kernels.hpp"

namespace stretto::codec::dense {

bool Reader::open(const std::uint8_t* begin, const std::uint8_t* end, int groups, Type type,
                  const DenseKernels* kernels) noexcept {
  const auto length = static_cast<std::size_t>(end - begin);
  type_ = type;
  kernels_ = kernels;
  left_ = groups;
  base_ = 0;
  if (length < 8) return false;
  const auto word = load<std::uint32_t>(begin);
  const std::size_t low_words = word & (kTwoSetsBit - 1);
  if (word >> 25 || length / 4 - 1 < low_words) return false;
  decoder_.sets = word & kTwoSetsBit ? 2 : 1;
  decoder_.low = begin + 4;
  decoder_.bit = 0;
  decoder_.bits = 32 * std::uint64_t{low_words};
  const std::uint8_t* p = decoder_.low + 4 * low_words;
  const std::size_t tables = read_tables(p, end, &tables_);
  if (tables == 0) return false;
  head_ = p + tables;
  decoder_.tables = &tables_;
  decoder_.begin = begin;
  decoder_.end = end;
  decoder_.floor = head_;
  decoder_.words = end;
  if (tables_.widest == 0) {
    decoder_.sets = 0;
    return true;
  }
  const std::size_t states = kStateBytes * static_cast<std::size_t>(decoder_.sets);
  if (static_cast<std::size_t>(end - head_) < states) return false;
  decoder_.words = end - states;
  return read_states(decoder_.words, decoder_.sets, &decoder_.states);
}

bool Reader::at_end() const noexcept {
  return decoder_.words >= head_ && decoder_.words - head_ < 4 && ended(decoder_.states, decoder_.sets) &&
         (decoder_.bit + 31) / 32 * 32 == decoder_.bits;
}

bool Reader::next(int m) noexcept {
  Parts parts;
  turn_ ^= 1;
  head_ = read_head(head_, decoder_.words, m, type_, &base_, &parts);
  if (!head_) return false;
  decoder_.floor = head_;
  std::uint8_t* const out = buffer_[turn_];
  std::uint8_t* p = begin_group(parts, out);
  std::uint8_t widths[kBlocks];
  if (parts.widths.widest) {
    const auto decode_group = kernels_ && kernels_->decode ? kernels_->decode : &decode;
    const std::size_t planes =
        decode_group(&decoder_, parts.widths.widest, parts.predictor == Predictor::none_unsigned, p, widths);
    if (planes == kMalformed) return false;
    p += planes;
  }
  words_ = end_group(parts, widths, out, p);
  return 4 * words_ <= kMaxGroupBytes && (--left_ > 0 || at_end());
}

}  // namespace stretto::codec::dense
