#include "arguments.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include <fmt/core.h>

#include "model/nodes.hpp"
#include "model/profile/shipped.hpp"
#include "schedule/names.hpp"

namespace stretto::app {

void check(Status s) {
  if (s != Status::ok) throw Problem(message());
}

std::uint64_t parse_size(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  std::string unit = end;
  if (!unit.empty() && unit.back() == 'B') unit.pop_back();
  if (!unit.empty() && unit.back() == 'i') unit.pop_back();
  const std::string units = "KMGT";
  const std::size_t power = unit.size() == 1 ? units.find(unit[0]) + 1 : 0;
  const bool known = unit.empty() || (unit.size() == 1 && units.find(unit[0]) != std::string::npos);
  if (end == text.c_str() || !known || !std::isfinite(number) || number < 0)
    throw Problem(fmt::format("'{}' is no size; write a number of bytes, or one followed by K, M, G or T", text));
  const double bytes = number * std::exp2(10.0 * static_cast<double>(power));
  if (bytes > std::exp2(50)) throw Problem(fmt::format("'{}' is beyond 1024T", text));
  return static_cast<std::uint64_t>(std::llround(bytes));
}

bool allows_streams(const std::string& bound) {
  if (bound == "exact") return false;
  const std::string kind = bound.substr(0, 4);
  std::string number = bound.substr(kind.size());
  for (const std::string scope : {":result", ":contribution"})
    if (number.ends_with(scope)) number.resize(number.size() - scope.size());
  char* end = nullptr;
  const double value = std::strtod(number.c_str(), &end);
  if ((kind != "rel:" && kind != "abs:") || number.empty() || *end != '\0')
    throw Problem(fmt::format("bound '{}' is none of exact, rel:X (of the range), abs:X", bound));
  if (!std::isfinite(value) || value <= 0)
    throw Problem(fmt::format("bound '{}': {} is not finite and positive", bound, number));
  return true;
}

schedule::Collective collective_of(const Arguments& arguments) {
  std::string_view name = arguments.collective;
  if (name == "reduce_scatter_block") name = "reduce_scatter";
  if (const auto c = schedule::find_collective(name)) return *c;
  std::string there;
  for (int i = 0; i < schedule::kCollectives; ++i)
    if (const auto c = static_cast<schedule::Collective>(i); schedule::is_family(c))
      there += (there.empty() ? "" : ", ") + std::string(schedule::name(c));
  throw Problem(
      fmt::format("'{}' is no collective; there are {}; bcast is also broadcast", arguments.collective, there));
}

topology::Topology topology_of(const Arguments& arguments, const model::Profile& profile, int ranks, int per_node) {
  if (ranks < 1) throw Problem(fmt::format("{} ranks; there must be at least one", ranks));
  if (ranks > 131072) throw Problem(fmt::format("{} ranks; at most 131072 are walked", ranks));
  if (per_node < 1) throw Problem(fmt::format("{} ranks on each node; there must be at least one", per_node));
  if (per_node > ranks)
    throw Problem(fmt::format("{} ranks on each node are more than the {} there are", per_node, ranks));
  auto where = topology::Topology::regular(ranks, per_node);
  // A named torus must fit; the profile's torus describes the whole machine.
  if (arguments.network.empty()) return model::on_network(profile, std::move(where));
  check(where.lay_on_torus(profile.torus.sides));
  return where;
}

namespace {

std::vector<std::int32_t> sides_of(const std::string& network) {
  if (network == "flat") return {};
  std::vector<std::int32_t> sides;
  std::string_view text = network;
  constexpr std::string_view kind = "torus:";
  bool known = text.starts_with(kind);
  for (text.remove_prefix(known ? kind.size() : text.size()); known && (!text.empty() || sides.empty());) {
    const std::size_t end = std::min(text.find('x'), text.size());
    std::int32_t side = 0;
    const auto read = std::from_chars(text.data(), text.data() + end, side);
    known = read.ec == std::errc() && read.ptr == text.data() + end && side >= 1 && end + 1 != text.size();
    sides.push_back(side);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (!known) throw Problem(fmt::format("network '{}' is neither flat nor a torus such as torus:4x4x4", network));
  return sides;
}

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace

model::Carrier carrier_of(const Arguments& arguments) {
  if (const auto carrier = model::find_carrier(arguments.carrier)) return *carrier;
  throw Problem(fmt::format("carrier '{}' is neither mpi nor ucx", arguments.carrier));
}

model::Profile profile_named(const Arguments& arguments, std::string* from) {
  model::Profile profile;
  std::string found = arguments.machine;
  bool is_shipped = false;
  for (const std::string& name : model::shipped()) is_shipped |= name == arguments.machine;
  if (arguments.machine.empty()) {
    check(model::find_of_host(host_name(), carrier_of(arguments), &profile, &found));
  } else if (is_shipped) {
    check(model::shipped(arguments.machine, &profile));
  } else {
    if (access(arguments.machine.c_str(), F_OK) != 0)
      throw Problem(fmt::format("machine {}", model::no_profile(arguments.machine)));
    check(model::load(arguments.machine, &profile));
  }
  if (from != nullptr) *from = found;
  return profile;
}

model::Profile profile_of(const Arguments& arguments, std::string* from, std::string* messages) {
  model::Profile profile = model::over(carrier_of(arguments), profile_named(arguments, from), messages);
  if (arguments.gigabits < 0 || !std::isfinite(arguments.gigabits))
    throw Problem(fmt::format("{} Gb/s is no rate of a network", arguments.gigabits));
  if (arguments.gigabits > 0) {
    for (model::Span& s : profile.links[static_cast<std::size_t>(topology::Distance::network)])
      s.beta = 8 / (arguments.gigabits * 1e9);
    profile.short_calls.clear();
  }
  if (!arguments.mpi.empty()) profile.mpi = arguments.mpi;
  profile.eager_limit = carrier_of(arguments) == model::Carrier::mpi ? arguments.eager_limit : 0;
  if (arguments.codec_threads < 1 || arguments.codec_threads > 256)
    throw Problem(fmt::format("{} threads of the codec; 1 to 256", arguments.codec_threads));
  profile.codec_threads = arguments.codec_threads;
  if (!arguments.network.empty()) profile.torus.sides = sides_of(arguments.network);
  if (arguments.hop >= 0) profile.torus.hop = arguments.hop;
  return profile;
}

model::Machine machine_of(const Arguments& a, const model::Profile& profile, std::uint32_t element, double ratio) {
  if (!std::isfinite(ratio) || ratio < 1) throw Problem(fmt::format("ratio {} is below 1", ratio));
  if (!std::isfinite(a.growth) || a.growth < 0)
    throw Problem(fmt::format("growth {} is no number of bits, 0 or more", a.growth));
  if (a.hosts_per_switch < 0 || !std::isfinite(a.oversubscription) || a.oversubscription < 1) {
    throw Problem(fmt::format("{} hosts a switch, oversubscribed {} times: no fabric; the least is 0 and 1",
                              a.hosts_per_switch, a.oversubscription));
  }
  model::Machine machine = model::machine_of(profile, element, ratio);
  machine.growth = a.growth;
  machine.fabric = {a.hosts_per_switch, a.oversubscription};
  return machine;
}

model::Question question_of(const Arguments& a) {
  model::Question q;
  q.collective = collective_of(a);
  q.bytes = q.collective == schedule::Collective::barrier ? 0 : parse_size(a.bytes);
  if (a.type != "f32" && a.type != "f64") throw Problem(fmt::format("type '{}' is neither f32 nor f64", a.type));
  q.element = a.type == "f64" ? 8 : 4;
  if (schedule::rooted(q.collective)) {
    if (a.root < 0 || a.root >= a.ranks) throw Problem(fmt::format("root {} is none of {} ranks", a.root, a.ranks));
    q.root = a.root;
  }
  if (!std::isfinite(a.ratio) || a.ratio < 1) throw Problem(fmt::format("ratio {} is below 1", a.ratio));
  payload::Kind forced{};
  const bool named = a.payload != "auto";
  if (named && !payload::find(a.payload.c_str(), &forced)) {
    std::string names = "auto";
    for (const payload::Traits& t : payload::kAllTraits) names += std::string(", ") + t.name;
    throw Problem(fmt::format("payload '{}' is none of {}, and doc, which is recompress", a.payload, names));
  }
  const bool halves = named && payload::traits(forced).form == payload::Form::halves;
  q.compress = halves || allows_streams(a.bound);
  if (halves && (allows_streams(a.bound) || a.ratio_given || a.dense_ratio != 0 || !a.raw_below.empty()))
    throw Problem(fmt::format(
        "payload {} keeps no bound, and halves bytes: leave --bound, the ratios and --raw-below out", a.payload));
  if (halves && a.type != "f32") throw Problem(fmt::format("payload {} takes f32, not {}", a.payload, a.type));
  if (halves && (a.device || a.nccl)) throw Problem(fmt::format("memory of a device has no payload {}", a.payload));
  if (a.ratio_given && !q.compress && a.system.empty())
    throw Problem(fmt::format("ratio {} is that of streams, which need a bound: --bound rel:X or abs:X", a.ratio));
  q.ratio = halves ? 2 : q.compress ? a.ratio : 1;
  if (a.dense_ratio != 0 && !(std::isfinite(a.dense_ratio) && a.dense_ratio >= 1))
    throw Problem(fmt::format("dense ratio {} is below 1", a.dense_ratio));
  if (a.dense_ratio != 0 && !q.compress)
    throw Problem(
        fmt::format("dense ratio {} is that of streams, which need a bound: --bound rel:X or abs:X", a.dense_ratio));
  q.dense_ratio = a.dense_ratio;
  // Over UCX there are no native collectives. Ranks of one host share its memory.
  const bool ucx = carrier_of(a) == model::Carrier::ucx;
  // Neither the MPI's collectives nor the node's reach device memory.
  q.device = a.device || a.nccl;
  q.staged = a.device && !a.nccl;
  q.native = a.native && (a.nccl || (!ucx && !a.device));
  q.node = (ucx || a.native) && a.ranks > 1 && a.ranks <= a.per_node && !q.device;
  q.node_streams = q.node && q.compress;
  const bool nodes = (ucx || a.native) && !q.started && !q.device && a.per_node > 1 && a.ranks > a.per_node;
  q.nodes = nodes && q.bytes >= model::least_in_memory(q.collective);
  const bool codes_blocks = q.compress && !halves && q.collective == schedule::Collective::alltoall;
  q.lines = nodes && (!q.compress || codes_blocks) && model::gains_by_lines(q.collective, q.bytes, codes_blocks);
  q.nodes_streams = (q.nodes && q.compress && !halves && schedule::reduces(q.collective)) || (q.lines && codes_blocks);
  q.schedule = a.schedule;
  if (!a.segment.empty()) q.segment = parse_size(a.segment);
  if (!a.raw_below.empty()) q.raw_below = parse_size(a.raw_below);
  if (q.raw_below > 0 && !q.compress)
    throw Problem(
        fmt::format("raw below {} is beside streams, which need a bound: --bound rel:X or abs:X", a.raw_below));
  if (q.raw_below > 0 && !a.system.empty())
    throw Problem(fmt::format("system {} has its own rule of what travels raw: leave --raw-below out", a.system));
  if (named) {
    if (payload::is_compressed(forced) && !q.compress)
      throw Problem(fmt::format("payload {} needs a bound: --bound rel:X or abs:X", a.payload));
    q.payload = static_cast<int>(forced);
    if (q.raw_below > 0 && !payload::traits(forced).adds_codes)
      throw Problem(fmt::format("raw below {} is beside streams of payload fused or homomorphic, not {}", a.raw_below,
                                a.payload));
  }
  return q;
}

}  // namespace stretto::app
