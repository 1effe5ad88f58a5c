#include "model/native.hpp"

#include <algorithm>
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

double streamed_node(const Machine& m, schedule::Collective collective, int ranks, int cores, double n,
                     double raw) noexcept {
  using schedule::Collective;
  constexpr double chunk = 128 * 1024;  // about, of which each rank has a part
  const double p = ranks, chunks = std::max(1.0, std::ceil(n / chunk));
  double codec = INFINITY;
  switch (collective) {
    case Collective::allreduce:
    case Collective::allreduce_multi:
    case Collective::reduce:
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_block: {
      const double others = p - 1, more = std::max(p - 2, 0.0);
      const double share = collective == Collective::reduce_scatter ? 1 / p : 1;  // of the result that a rank wants
      codec = m.compress.of(n * others / p, chunks * others) + m.fused.of(n / p, chunks) +
              m.add.of(n * more / p, chunks * more) + m.decompress.of(n * share, chunks * p * share);
      break;
    }
    case Collective::bcast: codec = m.compress.of(n, chunks) + m.decompress.of(n, chunks); break;
    case Collective::allgather:
    case Collective::allgatherv: codec = m.compress.of(n / p, chunks) + m.decompress.of(n, chunks * p); break;
    case Collective::gather:
    case Collective::gatherv:
    case Collective::scatter:
    case Collective::scatterv:
    case Collective::alltoall:
    case Collective::alltoallv:
    case Collective::barrier:
    case Collective::agreement: break;
  }
  return raw + codec * std::max(1.0, p / std::max(cores, 1));
}

}  // namespace stretto::model
