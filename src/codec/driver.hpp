#pragma once

#include <cstdint>
#include <cstring>

#include "base/float_environment.hpp"
#include "codec/kernels.hpp"
#include "codec/numbers/arithmetic.hpp"
#include "codec/stream/format.hpp"

namespace stretto::codec {

struct PartResult {
  Status status = Status::ok;
  std::uint64_t group = 0;
  std::uint8_t* end = nullptr;
  Tally tally{};
};

inline constexpr int kMaxParts = 256;

// Whole chunks, at most the executor's width.
int parts_of(std::uint64_t groups, const Parallel* parallel) noexcept;

constexpr std::uint64_t part_begin(std::uint64_t groups, int n, int i) noexcept {
  const std::uint64_t g = chunks_of(groups) * static_cast<std::uint64_t>(i) / static_cast<std::uint64_t>(n) * kChunk;
  return g < groups ? g : groups;
}

template <class F>
void run_parts(std::uint64_t groups, int parts, const Parallel* parallel, F& f) noexcept {
  struct Context {
    std::uint64_t groups;
    int parts;
    F* f;
  } context{groups, parts, &f};
  const auto task = [](void* arg, int i) {
    auto& c = *static_cast<Context*>(arg);
    (*c.f)(i, part_begin(c.groups, c.parts, i), part_begin(c.groups, c.parts, i + 1));
  };
  if (parts <= 1) {
    task(&context, 0);
    return;
  }
  parallel->run(parallel->self, parts, task, &context);
}

// Destinations lie before a part's written bytes.
struct Piece {
  std::uint8_t* to;
  const std::uint8_t* from;
  std::size_t bytes;
};

// By the parts' likely sizes, `need`: up to four times the need, or a proportional share if room is short. start[parts]
// is the end of the last.
void share_room(const std::size_t* need, int parts, std::uint8_t* begin, std::uint8_t* end,
                std::uint8_t** start) noexcept;

// Moves the pieces, ordered by source and destination: at once if no destination overlaps a pending source, else one by
// one. All threads share long moves over long distances.
void close_up(const Piece* pieces, int count, const Parallel* parallel) noexcept;

// Assembles a stream. encode(first, last, out, end) encodes groups [first, last) to out, records their lengths, and
// returns its end. reserve(first, last) is their likely size; parts share the room in proportion. If a share is too
// small, all work restarts in one part.
class StreamWriter {
 public:
  StreamWriter(MutableBytes out, std::uint64_t count, Coding coding = Coding::fixed) noexcept
      : layout(count, coding), base(reinterpret_cast<std::uint8_t*>(out.data())), size_(out.size()) {}

  bool has_room_for_index() const noexcept { return size_ >= layout.body; }
  void set_words(std::uint64_t g, std::size_t words) noexcept {
    store(base + layout.lengths + 2 * g, static_cast<std::uint16_t>(words));
  }
  // For dense streams, in place of set_words.
  void set_chunk(std::uint64_t c, std::size_t bytes, bool dense) noexcept {
    store(base + kHeaderBytes + 8 * c, std::uint64_t{bytes} | (dense ? kDenseBit : 0));
  }

  template <class Encode, class Reserve>
  PartResult write(const Parallel* parallel, Encode encode, Reserve reserve) noexcept {
    const int parts = parts_of(layout.groups, parallel);
    if (parts > 1) {
      const PartResult r = write_parts(parts, parallel, encode, reserve);
      if (r.status != Status::buffer_too_small) return r;
    }
    return encode(0, layout.groups, base + layout.body, base + size_);
  }

  std::size_t finish(std::uint8_t* end, Info info) noexcept;

  Layout layout;
  std::uint8_t* base;

 private:
  template <class Encode, class Reserve>
  PartResult write_parts(int parts, const Parallel* parallel, Encode& encode, Reserve& reserve) noexcept {
    PartResult results[kMaxParts];
    std::size_t need[kMaxParts];
    std::uint8_t* start[kMaxParts + 1];
    for (int i = 0; i < parts; ++i)
      need[i] = reserve(part_begin(layout.groups, parts, i), part_begin(layout.groups, parts, i + 1));
    share_room(need, parts, base + layout.body, base + size_, start);
    auto part = [&](int i, std::uint64_t first, std::uint64_t last) {
      results[i] = encode(first, last, start[i], start[i + 1]);
    };
    run_parts(layout.groups, parts, parallel, part);
    PartResult total = results[0];
    Piece pieces[kMaxParts];
    for (int i = 1; i < parts; ++i) {
      total.tally.merge(results[i].tally);
      if (total.status == Status::ok) {
        total.status = results[i].status;
        total.group = results[i].group;
      }
      if (total.status != Status::ok) continue;
      const auto n = static_cast<std::size_t>(results[i].end - start[i]);
      pieces[i - 1] = {total.end, start[i], n};
      total.end += n;
    }
    if (total.status == Status::ok) close_up(pieces, parts - 1, parallel);
    return total;
  }

  std::size_t size_;
};

// Copies groups near the end of readable memory: kernels may read past a group.
class ReadableGroup {
 public:
  const std::uint8_t* at(const std::uint8_t* p, std::size_t words, const std::uint8_t* end) noexcept {
    if (static_cast<std::size_t>(end - p) >= 4 * words + kReadSlack) return p;
    if (4 * words + kReadSlack > sizeof buffer_) return nullptr;
    std::memcpy(buffer_, p, 4 * words);
    return buffer_;
  }

 private:
  std::uint8_t buffer_[kKernelRoom + kReadSlack];
};

// The sum of two groups of m < kGroup places, by the kernel for full ones, or kDeclined. `a` and `b` are readable
// (ReadableGroup).
std::size_t add_part(const Kernels& kernels, const std::uint8_t* a, std::size_t a_words, const std::uint8_t* b,
                     std::size_t b_words, int m, Type type, bool negate_b, std::uint8_t* out,
                     std::size_t room) noexcept;

// Prefetches about one group ahead: short groups, read from both ends, defeat hardware prefetching. Sums gain a fifth.
inline void prefetch_read(const std::uint8_t* p, std::size_t bytes) noexcept {
  for (std::size_t i = 0; i < bytes; i += 64) __builtin_prefetch(p + bytes + 1024 + i);
}

// Null, with a message, if unavailable.
const Kernels* chosen_kernels(const Options& options) noexcept;

Status report(const PartResult& r, const char* what, std::size_t capacity) noexcept;

inline Coding coding_of(const Options& o) noexcept { return o.coding == Coding::dense ? Coding::dense : Coding::fixed; }
inline Coding coding_of(const Options& o, const Info& a, const Info& b) noexcept {
  if (o.coding != Coding::automatic) return coding_of(o);
  return a.coding == Coding::dense ? a.coding : b.coding;
}

inline Coding orders_of(const Options& o, Coding written) noexcept {
  return o.orders != Coding::automatic ? o.orders : written;
}

// Between chunk boundaries; an estimate of the fixed size for dense streams.
inline std::size_t likely_bytes(const StreamView& s, std::uint64_t first, std::uint64_t last) noexcept {
  const auto bytes = static_cast<std::size_t>(s.chunk(chunks_of(last)) - s.chunk(first / kChunk));
  return s.layout.coding == Coding::dense ? 2 * bytes : bytes;
}

}  // namespace stretto::codec
