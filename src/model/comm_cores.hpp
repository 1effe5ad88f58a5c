#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stretto::model {

class CommCores {
 public:
  CommCores(int hosts, int each)
      : each_(each), busy_until_(static_cast<std::size_t>(hosts) * static_cast<std::size_t>(each)) {}

  bool any() const noexcept { return each_ > 0; }

  // Requires any().
  double& first(std::int32_t host) noexcept {
    const auto begin = busy_until_.begin() + std::ptrdiff_t{host} * each_;
    return *std::min_element(begin, begin + each_);
  }

 private:
  int each_;
  std::vector<double> busy_until_;
};

}  // namespace stretto::model
