#include "codec/stream/part.hpp"

namespace stretto::codec {
namespace {

bool is_zero_from(const GroupView& g, int m) noexcept {
  const int block = m / kBlock, places = m % kBlock;
  const std::uint8_t* p = g.planes;
  for (int b = 0; b < block; ++b) p += 4 * g.width[b];
  for (int i = 0; i < g.width[block]; ++i, p += 4)
    if (load<std::uint32_t>(p) >> places != 0) return false;
  for (int b = block + 1; b < kBlocks; ++b)
    if (g.width[b] != 0) return false;
  return true;
}

bool parse_part(const std::uint8_t* p, std::size_t words, int m, Type type, GroupView* g) noexcept {
  return has_codes_alone(p, words) && parse_group(p, words, m, type, g) && !g->wide && is_zero_from(*g, m);
}

}  // namespace

bool add_as_full(const std::uint8_t* a, std::size_t a_words, const std::uint8_t* b, std::size_t b_words, int m,
                 Type type) noexcept {
  GroupView va, vb;
  return parse_part(a, a_words, m, type, &va) && parse_part(b, b_words, m, type, &vb) &&
         order_of(va.predictor) == order_of(vb.predictor);
}

}  // namespace stretto::codec
