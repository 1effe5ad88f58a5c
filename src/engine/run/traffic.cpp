#include "engine/run/traffic.hpp"

#include <new>

#include "base/guarded.hpp"

namespace stretto::engine {

void give_away(const payload::Buffer& buffer, std::vector<payload::Buffer>* lost) noexcept {
  if (!buffer || attempt([&] { lost->push_back(buffer); })) return;
  alignas(payload::Buffer) std::byte forever[sizeof(payload::Buffer)];
  new (forever) payload::Buffer(buffer);  // never destroyed
}

Status Traffic::begin(const Work&, const payload::Spec& spec, const codec::Parallel* parallel) noexcept {
  host_.begin(spec, run_.pool, parallel);
  return Status::ok;
}

Status Traffic::route() {
  for (std::uint32_t u = 0; u < run_.units.count(); ++u) {
    if (run_.values.lands_in_place(run_.plan.units[u])) run_.units[u].way = Way::in_place;
  }
  return Status::ok;
}

}  // namespace stretto::engine
