// Profiles by name: those that are part of the library; and by carrier.
#include "model/profile.hpp"

#include <utility>

#include "model/shipped.hpp"

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

Profile over(Carrier carrier, Profile profile, std::string* messages) {
  const auto take = [&](const Messages& found, const std::string& of) {
    static_cast<Messages&>(profile) = found;
    if (messages != nullptr) *messages = of;
  };
  if (carrier == Carrier::mpi) {
    const bool others = !profile.known() && profile.ucx;
    take(others ? Messages(built_in()) : Messages(profile), others ? built_in().name : profile.name);
    return profile;
  }
  std::erase_if(profile.natives, [](const Native& n) { return n.provider == Provider::mpi; });
  if (profile.ucx)
    take(Messages(*profile.ucx), profile.name);
  else if (profile.mpi.empty())
    take(Messages(profile), profile.name);
  else
    take(built_in().ucx.value_or(UcxMessages{built_in(), {}}), built_in().name);
  return profile;
}

topology::Topology on_network(const Profile& profile, topology::Topology topology) {
  static_cast<void>(topology.lay_on_torus(profile.torus.sides));
  return topology;
}

const Profile& built_in() {
  static const Profile profile = [] {
    Profile p;
    const Status s = shipped("built-in", &p);
    if (s != Status::ok) p.name = "built-in";  // figures of zero; a test keeps this from happening
    return p;
  }();
  return profile;
}

std::vector<std::string> shipped() {
  std::vector<std::string> names;
  for (const Shipped& s : shipped_texts()) names.emplace_back(s.name);
  return names;
}

Status shipped(const std::string& name, Profile* profile) noexcept {
  for (const Shipped& s : shipped_texts())
    if (s.name == name) return parse(std::string(s.json), profile);
  std::string all;
  for (const Shipped& s : shipped_texts()) all += (all.empty() ? "" : ", ") + std::string(s.name);
  return fail(Status::invalid_argument, "no profile '{}' is shipped; there are {}", name, all);
}

}  // namespace stretto::model
