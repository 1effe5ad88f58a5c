#pragma once

#include "codec/driver.hpp"

namespace stretto::codec {

namespace dense {
class Reader;
class Writer;
}  // namespace dense

class GroupSource {
 public:
  // `number`: 0 or 1; a thread uses at most one source of each.
  GroupSource(const StreamView& s, const Kernels& kernels, int number) noexcept
      : s_(s), kernels_(kernels), number_(number) {}

  // Fast for the next group. A dense chunk's bytes stay valid until the next call but one.
  Status read(std::uint64_t g) noexcept {
    if (direct_ && g == next_ && g % kChunk != 0) {
      data_ += 4 * words_;
      words_ = load<std::uint16_t>(lengths_ + 2 * (g % kChunk));
      ++next_;
      return Status::ok;
    }
    return find(g);
  }
  const std::uint8_t* data() const noexcept { return data_; }
  std::size_t words() const noexcept { return words_; }
  const std::uint8_t* readable_end() const noexcept { return end_; }
  bool view(GroupView* view) const noexcept {
    return parse_group(data_, words_, s_.layout.group_size(next_ - 1), stored_type(s_.info.type), view);
  }

 private:
  Status find(std::uint64_t g) noexcept;

  const StreamView& s_;
  const Kernels& kernels_;
  int number_;
  bool direct_ = false;
  std::uint64_t next_ = 0;
  std::uint64_t chunk_ = ~std::uint64_t{0};
  const std::uint8_t *data_ = nullptr, *lengths_ = nullptr, *end_ = nullptr;
  std::size_t words_ = 0;
  dense::Reader* reader_ = nullptr;
};

// A part's groups. A thread uses at most one sink at a time.
class GroupSink {
 public:
  GroupSink(StreamWriter& writer, Type stored, const Kernels& kernels, std::uint8_t* begin, std::uint8_t* end) noexcept;
  Status status() const noexcept { return status_; }
  std::uint8_t* at() const noexcept { return at_; }
  std::size_t room() const noexcept { return room_; }
  Status put(std::uint64_t g, std::size_t words) noexcept {
    if (dense_) return put_dense(g, words);
    writer_.set_words(g, words);
    at_ += 4 * words;
    room_ -= 4 * words;
    return Status::ok;
  }
  std::uint8_t* end() const noexcept { return dense_ ? to_ : at_; }

 private:
  Status put_dense(std::uint64_t g, std::size_t words) noexcept;

  StreamWriter& writer_;
  dense::Writer* dense_ = nullptr;
  Status status_ = Status::ok;
  std::uint8_t *at_, *to_, *end_;
  std::size_t room_;
};

inline Status no_room(std::size_t room) noexcept {
  return room >= 4 * kMaxGroupWords ? Status::overflow : Status::buffer_too_small;
}

}  // namespace stretto::codec
