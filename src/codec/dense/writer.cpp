#include "codec/dense/writer.hpp"

#include <algorithm>
#include <cstring>

#include "codec/kernels.hpp"

namespace stretto::codec::dense {

void Writer::open(Type type, const DenseKernels* kernels) noexcept {
  type_ = type;
  kernels_ = kernels;
  begin();
}

void Writer::begin() noexcept {
  groups_ = 0;
  fixed_bytes_ = 0;
  base_ = 0;
  worth_it_ = true;
  heads_end_ = heads_;
  low_ = BitWriter(chunk_ + 4);
  counts_.clear();
}

void Writer::scan(const std::uint8_t* group, std::size_t words, int m) noexcept {
  Parts parts;
  if (4 * words > kMaxGroupBytes || !take_apart(group, words, m, type_, &parts)) {
    worth_it_ = false;
    return;
  }
  heads_end_ = write_head(parts, &base_, heads_end_);
  Widths& w = widths_[groups_] = parts.widths;
  if (w.widest == 0) return;
  counts_.widest = std::max<int>(counts_.widest, w.widest);
  const auto scan_group = kernels_ && kernels_->scan ? kernels_->scan : &dense::scan;
  scan_group(parts.planes, w, parts.predictor == Predictor::none_unsigned, classes_ + kGroup * groups_, &counts_,
             &low_);
}

void Writer::put(std::size_t words, int m) noexcept {
  store(fixed_ + 2 * groups_, static_cast<std::uint16_t>(words));
  if (worth_it_) scan(at(), words, m);
  fixed_bytes_ += 4 * words;
  ++groups_;
}

void Writer::close_dense(std::size_t fixed) noexcept {
  std::uint32_t blocks = 0;
  for (const std::uint32_t n : counts_.blocks) blocks += n;
  const int sets = blocks >= kBlocksForTwoSets ? 2 : 1;
  const std::size_t low_words = (low_.finish() + 3) / 4;
  std::uint8_t* p = chunk_ + 4 + low_.bytes();
  std::memset(p, 0, 4);
  p = chunk_ + 4 + 4 * low_words;
  store(chunk_, static_cast<std::uint32_t>(low_words) | (sets == 2 ? kTwoSetsBit : 0));
  const auto heads = static_cast<std::size_t>(heads_end_ - heads_);
  make_tables(counts_, &tables_);
  p += write_tables(tables_, p);
  if (static_cast<std::size_t>(p - chunk_) + heads >= fixed) return;
  std::memcpy(p, heads_, heads);
  p += heads;
  if (counts_.widest) {
    // Padding precedes the words if their number is odd or the heads end between words.
    start(&states_);
    const auto encode_groups = kernels_ && kernels_->encode ? kernels_->encode : &encode;
    std::uint8_t* end = encode_groups(widths_, groups_, classes_, tables_, sets, &states_, p);
    const std::size_t padding = (0 - static_cast<std::size_t>(end - chunk_)) % 4;
    std::memmove(p + padding, p, static_cast<std::size_t>(end - p));
    std::memset(p, 0, padding);
    p = end + padding;
    write_states(states_, sets, p);
    p += kStateBytes * static_cast<std::size_t>(sets);
  } else {
    store<std::uint32_t>(p, 0);
    p += (0 - static_cast<std::size_t>(p - chunk_)) % 4;
  }
  bytes_ = static_cast<std::size_t>(p - chunk_);
  dense_ = bytes_ < fixed;
}

void Writer::close() noexcept {
  const auto groups = static_cast<std::size_t>(groups_);
  const std::size_t lengths = (2 * groups + 3) / 4 * 4, fixed = lengths + fixed_bytes_;
  dense_ = false;
  if (worth_it_) close_dense(fixed);
  if (!dense_) {
    if (groups < kChunk) {
      std::memset(fixed_ + 2 * groups, 0, lengths - 2 * groups);
      std::memmove(fixed_ + lengths, fixed_ + kLengths, fixed_bytes_);
    }
    bytes_ = fixed;
  }
  const bool dense = dense_;
  begin();
  dense_ = dense;
}

}  // namespace stretto::codec::dense
