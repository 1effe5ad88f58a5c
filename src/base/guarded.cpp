#include "base/guarded.hpp"

#include <array>

namespace stretto {

Status Purpose::fail() const noexcept {
  if (!is_format_)
    return stretto::fail(Status::out_of_memory, "no memory {}", std::string_view(text_.data(), text_.size()));
  std::array<char, 200> text;
  const auto all = fmt::format_to_n(text.data(), text.size(), fmt::runtime(text_), number_);
  return stretto::fail(Status::out_of_memory, "no memory {}",
                       std::string_view(text.data(), all.size < text.size() ? all.size : text.size()));
}

}  // namespace stretto
