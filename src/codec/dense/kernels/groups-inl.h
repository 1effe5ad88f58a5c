// Groups, block by block. Kernels include this file in their namespace, within their target, after their definitions of
// - kMost: the scalar code serves more planes or symbols; count_widths, scan_planes;
// - Wide, a set of states to encode; put;
// - Set, a set of states to decode; load_set, store_set (of Wide, too); take_symbols, take_block; LowBits, kLowReach.

namespace {

struct Position {
  const std::uint8_t* words;
  LowBits low;
  std::uint8_t* planes;
};

inline bool next_block(Decoder* d, int width, bool is_unsigned, int set, Set& x, Position& at) noexcept {
  const Tables& tables = *d->tables;
  if (at.words < d->floor || at.low.at > d->bits || !(tables.have_classes >> (width - 1) & 1)) return false;
  if (width <= kMost && d->end - (at.low.p + at.low.at / 8) >= kLowReach) {
    at.words = take_block(tables.classes[width], width, is_unsigned, x, at.words, at.low, at.planes);
  } else {
    store_set(x, &d->states, set);
    d->words = at.words;
    d->bit = at.low.at;
    std::uint8_t classes[kLanes];
    if (!decode_step(d, tables.classes[width], width, set, classes) ||
        !read_block(d, classes, width, is_unsigned, at.planes))
      return false;
    load_set(d->states, set, &x);
    at.words = d->words;
    at.low.at = d->bit;
  }
  at.planes += 4 * width;
  return true;
}

}  // namespace

void scan(const std::uint8_t* planes, const Widths& widths, bool is_unsigned, std::uint8_t* classes, Counts* counts,
          BitWriter* low) noexcept {
  count_widths(widths, counts->widths[widths.widest]);
  for (int b = 0; b < kBlocks; ++b, classes += kLanes) {
    const int width = widths.of[b];
    if (width == 0) continue;
    if (width <= kMost) {
      scan_planes(planes, width, is_unsigned, classes, counts->at_least[0][width], low);
      ++counts->blocks[width];
    } else {
      scan_block(planes, width, is_unsigned, classes, counts, low);
    }
    planes += 4 * width;
  }
}

std::uint8_t* encode(const Widths* groups, int n, const std::uint8_t* classes, const Tables& tables, int sets,
                     States* states, std::uint8_t* out) noexcept {
  Wide x[2];
  load_set(*states, 0, &x[0]);
  load_set(*states, 1, &x[1]);
  for (int g = n - 1; g >= 0; --g) {
    const Widths& w = groups[g];
    if (w.widest == 0) continue;
    for (int b = kBlocks - 1; b >= 0; --b) {
      const int width = w.of[b], set = b & (sets - 1);
      if (width) out = put(tables.classes[width], width, classes + kGroup * g + kLanes * b, set, x[set], states, out);
    }
    out = put(tables.widths[w.widest], w.widest, w.of, 0, x[0], states, out);
  }
  store_set(x[0], states, 0);
  store_set(x[1], states, 1);
  return out;
}

std::size_t decode(Decoder* d, int widest, bool is_unsigned, std::uint8_t* planes, std::uint8_t* widths) noexcept {
  const Tables& tables = *d->tables;
  if (widest > tables.widest || !(tables.have_widths >> (widest - 1) & 1)) return kMalformed;
  if (widest > kMost && !decode_step(d, tables.widths[widest], widest, 0, widths)) return kMalformed;
  Set x[2];
  load_set(d->states, 0, &x[0]);
  load_set(d->states, 1, &x[1]);
  Position at{d->words, {d->low, d->bit}, planes};
  if (widest <= kMost) at.words = take_symbols(tables.widths[widest], widest, x[0], at.words, widths);
  for (int b = 0; b < kBlocks; ++b) {
    const int width = widths[b], set = b & (d->sets - 1);
    if (width && !next_block(d, width, is_unsigned, set, x[set], at)) return kMalformed;
  }
  if (at.words < d->floor || at.low.at > d->bits) return kMalformed;
  store_set(x[0], &d->states, 0);
  store_set(x[1], &d->states, 1);
  d->words = at.words;
  d->bit = at.low.at;
  return static_cast<std::size_t>(at.planes - planes);
}
