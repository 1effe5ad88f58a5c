#include "codec/group_io.hpp"

#include <algorithm>

#include "codec/dense/workspace.hpp"

namespace stretto::codec {

Status GroupSource::find(std::uint64_t g) noexcept {
  const std::uint64_t c = g / kChunk, first = c * kChunk;
  direct_ = !s_.dense(c);
  if (direct_) {
    lengths_ = s_.lengths_of(c);
    data_ = s_.first_group(c);
    for (std::uint64_t i = first; i < g; ++i) data_ += 4 * std::size_t{s_.words(i)};
    words_ = s_.words(g);
    end_ = s_.end();
    next_ = g + 1;
    return Status::ok;
  }
  if (c == chunk_ && g + 1 == next_) return Status::ok;
  if (c != chunk_ || g < next_) {
    dense::Workspace* const memory = dense::workspace();
    if (!memory) return Status::out_of_memory;
    reader_ = &memory->readers[number_];
    chunk_ = ~std::uint64_t{0};
    const auto groups = static_cast<int>(std::min<std::uint64_t>(kChunk, s_.layout.groups - first));
    if (!reader_->open(s_.chunk(c), s_.chunk(c + 1), groups, stored_type(s_.info.type), &kernels_.dense))
      return Status::corrupt_stream;
    chunk_ = c;
    next_ = first;
  }
  for (; next_ <= g; ++next_)
    if (!reader_->next(s_.layout.group_size(next_))) {
      chunk_ = ~std::uint64_t{0};
      return Status::corrupt_stream;
    }
  data_ = reader_->group();
  words_ = reader_->words();
  end_ = reader_->readable_end();
  return Status::ok;
}

GroupSink::GroupSink(StreamWriter& writer, Type stored, const Kernels& kernels, std::uint8_t* begin,
                     std::uint8_t* end) noexcept
    : writer_(writer), at_(begin), to_(begin), end_(end), room_(static_cast<std::size_t>(end - begin)) {
  if (writer.layout.coding != Coding::dense) return;
  if (dense::Workspace* const memory = dense::workspace()) {
    dense_ = &memory->writer;
    dense_->open(stored, &kernels.dense);
    at_ = dense_->at();
    room_ = dense_->room();
  } else {
    status_ = Status::out_of_memory;
  }
}

Status GroupSink::put_dense(std::uint64_t g, std::size_t words) noexcept {
  dense_->put(words, writer_.layout.group_size(g));
  if ((g + 1) % kChunk == 0 || g + 1 == writer_.layout.groups) {
    dense_->close();
    if (static_cast<std::size_t>(end_ - to_) < dense_->bytes()) return Status::buffer_too_small;
    std::memcpy(to_, dense_->chunk(), dense_->bytes());
    writer_.set_chunk(g / kChunk, dense_->bytes(), dense_->dense());
    to_ += dense_->bytes();
  }
  at_ = dense_->at();
  room_ = dense_->room();
  return Status::ok;
}

}  // namespace stretto::codec
