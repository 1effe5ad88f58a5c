#include "model/walk/network.hpp"

#include <algorithm>

namespace stretto::model {

Network::Network(const Programs& programs, const Machine& machine, bool latency_occupies)
    : programs_(programs),
      machine_(machine),
      latency_occupies_(latency_occupies),
      out_(programs.all.size()),
      in_(programs.all.size()),
      host_out_(static_cast<std::size_t>(programs.hosts)),
      host_in_(static_cast<std::size_t>(programs.hosts)),
      leaf_up_(static_cast<std::size_t>(programs.leaves)),
      leaf_down_(static_cast<std::size_t>(programs.leaves)),
      routes_(programs.torus),
      links_(routes_.links(programs.hosts)) {}

Network::Shared& Network::receiving(std::int32_t rank) noexcept {
  return (machine_.full_duplex ? in_ : out_)[static_cast<std::size_t>(rank)];
}

// Each torus link beyond the first adds latency.
double Network::latency(const Act& send, std::int32_t from, std::int32_t to, double alpha) const {
  if (links_.empty() || send.distance != topology::Distance::network) return alpha;
  const auto host = [&](std::int32_t rank) { return programs_.all[static_cast<std::size_t>(rank)].host; };
  return alpha + (routes_.hops(host(from), host(to)) - 1) * machine_.hop;
}

Flow Network::pass(const Act& send, std::int32_t from, std::int32_t to, double bytes, double pieces, Flow ready,
                   double posted, double* busy, double pause) {
  const Span& span = machine_.span(send.distance, bytes / pieces);
  const double occupied = bytes * span.beta + pieces * pause, alpha = latency(send, from, to, span.alpha);
  const double hold = occupied + (latency_occupies_ ? alpha : 0);
  Shared& out = out_[static_cast<std::size_t>(from)];
  Shared& in = receiving(to);
  const double able = std::max(ready.head, posted);
  const double start = std::max({able, out.free, in.free});
  Flow there{start + alpha + occupied / pieces, 0};
  const double sent = out.take(able, hold);
  const double received = &in != &out ? in.take(able, hold) : sent;
  there.tail = std::max({there.head + occupied - occupied / pieces,
                         std::max(sent, received) + alpha - (hold - occupied), ready.tail + alpha + occupied / pieces});
  *busy = machine_.moving(send.distance, bytes, pieces);
  if (send.distance != topology::Distance::network) return there;

  const auto host_from = static_cast<std::size_t>(programs_.all[static_cast<std::size_t>(from)].host);
  const auto host_to = static_cast<std::size_t>(programs_.all[static_cast<std::size_t>(to)].host);
  const auto share = [&](Shared& shared, double seconds) {
    there.tail = std::max(there.tail, shared.take(able, seconds) + alpha);
  };
  if (machine_.nics > 0) {
    share(host_out_[host_from], occupied / machine_.nics);
    share(machine_.full_duplex ? host_in_[host_to] : host_out_[host_to], occupied / machine_.nics);
  }
  const Fabric& fabric = machine_.fabric;
  if (send.far && fabric.hosts > 0) {
    const double uplink = occupied * fabric.oversubscription / (fabric.hosts * std::max(machine_.nics, 1));
    share(leaf_up_[static_cast<std::size_t>(programs_.leaf[host_from])], uplink);
    share(leaf_down_[static_cast<std::size_t>(programs_.leaf[host_to])], uplink);
  }
  routes_.walk(static_cast<std::int32_t>(host_from), static_cast<std::int32_t>(host_to),
               [&](std::size_t link) { share(links_[link], occupied); });
  return there;
}

}  // namespace stretto::model
