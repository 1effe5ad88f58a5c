#include "codec/dense/tables.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "codec/dense/bits.hpp"

namespace stretto::codec::dense {
namespace {

void finish(Table* t, int last) noexcept {
  std::uint32_t start = 0;
  for (int s = 0; s <= std::max(last, 31); ++s) {
    if (s > last) t->frequency[s] = 0;
    t->start[s] = static_cast<std::uint16_t>(start);
    start += t->frequency[s];
  }
  for (int s = 0; s < 32; ++s) t->threshold[s] = t->start[s] * 0x10001u;
}

void prepare_division(Table* t, int last) noexcept {
  for (int s = 0; s <= std::min(last, 31); ++s) {
    const std::uint32_t f = std::max<std::uint32_t>(t->frequency[s], 1);
    const int shift = 16 - std::bit_width(f);
    t->places[s] = static_cast<std::uint16_t>(t->start[s] << 4 | shift);
    t->reciprocal[s] = static_cast<std::uint16_t>(0xffffffffu / (f << shift) - 0x10000u);
    const int log = std::bit_width(f - 1);
    const std::uint32_t added = f > 1 ? t->start[s] : t->start[s] + kOne - 1;
    t->inverse[s] =
        f > 1 ? static_cast<std::uint32_t>(((std::uint64_t{1} << (log + 31)) + f - 1) / f) : ~std::uint32_t{0};
    t->parts[s] = added | f << 13 | static_cast<std::uint32_t>(f > 1 ? log - 1 : 0) << 26;
  }
}

void normalise(const std::uint32_t* count, int last, std::uint32_t total, Table* t) noexcept {
  auto rest = static_cast<std::int32_t>(kOne);
  int most = 0;
  for (int s = 0; s <= last; ++s) {
    const auto f = count[s] ? std::max<std::uint32_t>(1, count[s] * kOne / total) : 0;
    t->frequency[s] = static_cast<std::uint16_t>(f);
    rest -= static_cast<std::int32_t>(f);
    if (count[s] > count[most]) most = s;
  }
  t->frequency[most] = static_cast<std::uint16_t>(t->frequency[most] + rest);
  finish(t, last);
  prepare_division(t, last);
}

void write_table(const Table& t, int last, BitWriter& out) noexcept {
  std::uint32_t rest = kOne;
  for (int s = 0; s < last && rest > 0; ++s) {
    const std::uint32_t f = t.frequency[s];
    const int length = std::bit_width(f);
    out.put(static_cast<std::uint32_t>(length), 4);
    if (length > 1) out.put(f ^ 1u << (length - 1), length - 1);
    rest -= f;
  }
}

bool read_table(BitReader& in, int last, Table* t) noexcept {
  std::uint32_t rest = kOne;
  std::fill_n(t->frequency, last + 1, std::uint16_t{0});
  for (int s = 0; s < last && rest > 0; ++s) {
    const auto length = static_cast<int>(in.take(4));
    const std::uint32_t f = length > 1 ? in.take(length - 1) | 1u << (length - 1) : static_cast<std::uint32_t>(length);
    if (f > rest) return false;
    t->frequency[s] = static_cast<std::uint16_t>(f);
    rest -= f;
  }
  t->frequency[last] = static_cast<std::uint16_t>(t->frequency[last] + rest);
  finish(t, last);
  return true;
}

}  // namespace

void Counts::clear() noexcept {
  const auto rows = static_cast<std::size_t>(widest) + 1;
  std::memset(widths, 0, rows * sizeof widths[0]);
  for (auto& part : at_least) std::memset(part, 0, rows * sizeof part[0]);
  std::memset(blocks, 0, sizeof blocks);
  widest = 0;
}

void make_tables(const Counts& counts, Tables* tables) noexcept {
  tables->widest = counts.widest;
  tables->have_widths = tables->have_classes = 0;
  for (int w = 1; w <= counts.widest; ++w) {
    if (counts.widths[w][w]) {
      std::uint32_t total = 0;
      for (int s = 0; s <= w; ++s) total += counts.widths[w][s];
      normalise(counts.widths[w], w, total, &tables->widths[w]);
      tables->have_widths |= std::uint64_t{1} << (w - 1);
    }
    if (counts.blocks[w]) {
      std::uint32_t count[kMaxWidth + 1];
      std::uint32_t above = counts.blocks[w] * kLanes;
      const std::uint32_t total = above;
      for (int s = 0; s < w; ++s) {
        const std::uint32_t more = counts.at_least[0][w][s] + counts.at_least[1][w][s];
        count[s] = above - more;
        above = more;
      }
      count[w] = above;
      normalise(count, w, total, &tables->classes[w]);
      tables->have_classes |= std::uint64_t{1} << (w - 1);
    }
  }
}

std::size_t write_tables(const Tables& tables, std::uint8_t* out) noexcept {
  BitWriter bits{out};
  bits.put(static_cast<std::uint32_t>(tables.widest), 7);
  for (const bool classes : {false, true}) {
    const std::uint64_t have = classes ? tables.have_classes : tables.have_widths;
    const Table* table = classes ? tables.classes : tables.widths;
    for (int w = 1; w <= tables.widest; ++w) {
      const bool here = have >> (w - 1) & 1;
      bits.put(here, 1);
      if (here) write_table(table[w], w, bits);
    }
  }
  return bits.finish();
}

std::size_t read_tables(const std::uint8_t* p, const std::uint8_t* end, Tables* tables) noexcept {
  BitReader bits{p, end};
  tables->widest = static_cast<int>(bits.take(7));
  tables->have_widths = tables->have_classes = 0;
  if (tables->widest > kMaxWidth) return 0;
  for (const bool classes : {false, true}) {
    std::uint64_t& have = classes ? tables->have_classes : tables->have_widths;
    Table* table = classes ? tables->classes : tables->widths;
    for (int w = 1; w <= tables->widest; ++w) {
      if (!bits.take(1)) continue;
      if (!read_table(bits, w, &table[w])) return 0;
      have |= std::uint64_t{1} << (w - 1);
    }
  }
  return bits.finish();
}

}  // namespace stretto::codec::dense
