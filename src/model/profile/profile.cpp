#include "model/profile/profile.hpp"

#include <algorithm>
#include <utility>

#include "model/profile/shipped.hpp"

namespace stretto::model {

const char* name(Carrier carrier) noexcept {
  switch (carrier) {
    case Carrier::mpi: return "mpi";
    case Carrier::ucx: return "ucx";
  }
  return "?";
}

std::optional<Carrier> find_carrier(std::string_view text) noexcept {
  for (const Carrier carrier : {Carrier::mpi, Carrier::ucx})
    if (text == name(carrier)) return carrier;
  return std::nullopt;
}

namespace {

std::string all_shipped() {
  std::string all;
  for (const Shipped& s : shipped_texts()) all += (all.empty() ? "" : ", ") + std::string(s.name);
  return all;
}

// Unmeasured farther links inside a host take the farthest measured one.
void add_network(const Messages& others, Profile* profile) {
  constexpr auto network = static_cast<std::size_t>(topology::Distance::network);
  auto& links = profile->links;
  if (!links[network].empty()) return;
  for (std::size_t d = 1; d < network; ++d)
    if (links[d].empty() && std::all_of(&links[d], &links[network], [](const Link& l) { return l.empty(); }))
      links[d] = links[d - 1];
  links[network] = others.links[network];
  profile->short_calls.clear();
  profile->network_of = built_in().name;
}

}  // namespace

Profile over(Carrier carrier, Profile profile, std::string* messages) {
  const bool mpi = carrier == Carrier::mpi;
  const Messages others = mpi || !built_in().ucx ? Messages(built_in()) : Messages(*built_in().ucx);
  const auto take = [&](const Messages& found, const std::string& of) {
    static_cast<Messages&>(profile) = found;
    if (messages != nullptr) *messages = of;
    add_network(others, &profile);
  };
  if (mpi) {
    const bool of_others = !profile.known() && profile.ucx;
    take(of_others ? others : Messages(profile), of_others ? built_in().name : profile.name);
    return profile;
  }
  std::erase_if(profile.natives, [](const Native& n) { return n.provider == Provider::mpi; });
  if (profile.ucx)
    take(Messages(*profile.ucx), profile.name);
  else if (profile.mpi.empty())
    take(Messages(profile), profile.name);
  else
    take(others, built_in().name);
  return profile;
}

namespace {

void scale(const CodecProbe& from, const CodecProbe& to, std::vector<CodecCost>* costs) {
  if (!from.known() || !to.known()) return;
  // A disturbed measurement does not decide alone.
  const auto factor = [](double was, double is) { return std::clamp(is / was, 1.0 / 4, 16.0); };
  for (CodecCost& c : *costs) {
    c.compress *= factor(from.compress, to.compress);
    c.decompress *= factor(from.decompress, to.decompress);
    c.add *= factor(from.add, to.add);
    c.fused *= factor(from.fused, to.fused);
  }
}

}  // namespace

void scale_codec(const CodecProbe& fixed, const CodecProbe& dense, Profile* profile) {
  scale(profile->probe, fixed, &profile->f32);
  scale(profile->probe, fixed, &profile->f64);
  scale(profile->dense_probe, dense, &profile->dense_f32);
  scale(profile->dense_probe, dense, &profile->dense_f64);
}

topology::Topology on_network(const Profile& profile, topology::Topology topology) {
  static_cast<void>(topology.lay_on_torus(profile.torus.sides));
  return topology;
}

const Profile& built_in() {
  static const Profile profile = [] {
    Profile p;
    const Status s = shipped("built-in", &p);
    if (s != Status::ok) p.name = "built-in";  // zeros; a test prevents this
    return p;
  }();
  return profile;
}

std::vector<std::string> shipped() {
  std::vector<std::string> names;
  for (const Shipped& s : shipped_texts()) names.emplace_back(s.name);
  return names;
}

std::string no_profile(const std::string& name) {
  return "'" + name + "' is neither a file nor one of " + all_shipped();
}

Status shipped(const std::string& name, Profile* profile) noexcept {
  for (const Shipped& s : shipped_texts())
    if (s.name == name) return parse(std::string(s.json), profile);
  return fail(Status::invalid_argument, "no profile '{}' is shipped; there are {}", name, all_shipped());
}

}  // namespace stretto::model
