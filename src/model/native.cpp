#include "model/native.hpp"

#include <cmath>

namespace stretto::model {

std::optional<double> measured_native(const Profile& profile, Provider provider, schedule::Collective collective,
                                      int ranks, int hosts, double bytes) noexcept {
  for (const Native& native : profile.natives) {
    if (native.provider != provider || native.collective != collective || native.ranks != ranks ||
        native.hosts != hosts || native.points.empty())
      continue;
    const auto& points = native.points;
    if (bytes <= points.front().first) return points.front().second;
    if (bytes >= points.back().first) return points.back().second * bytes / points.back().first;
    std::size_t i = 1;
    while (points[i].first < bytes) ++i;
    const auto [x0, y0] = points[i - 1];
    const auto [x1, y1] = points[i];
    if (x0 <= 0 || y0 <= 0 || y1 <= 0) return y0 + (y1 - y0) * (bytes - x0) / (x1 - x0);
    return y0 * std::pow(y1 / y0, std::log(bytes / x0) / std::log(x1 / x0));
  }
  return std::nullopt;
}

}  // namespace stretto::model
