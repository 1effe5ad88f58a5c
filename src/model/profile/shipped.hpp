#pragma once

#include <span>
#include <string>
#include <string_view>

namespace stretto::model {

struct Shipped {
  std::string_view name;
  std::string_view json;
};

std::span<const Shipped> shipped_texts() noexcept;

std::string no_profile(const std::string& name);

}  // namespace stretto::model
