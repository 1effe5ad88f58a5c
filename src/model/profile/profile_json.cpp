#include <cmath>
#include <initializer_list>
#include <set>

#include <nlohmann/json.hpp>

#include "base/float_environment.hpp"
#include "base/guarded.hpp"
#include "base/text/printable.hpp"
#include "model/profile/profile.hpp"
#include "schedule/names.hpp"

namespace stretto::model {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

// As "links.network[1].beta is negative".
struct ProfileError {
  std::string what;
};

class Node {
 public:
  Node(const json& value, std::string path) : value_(value), path_(std::move(path)) {}

  [[noreturn]] void wrong(const std::string& why) const {
    throw ProfileError{(path_.empty() ? "the profile" : path_) + why};
  }

  bool has(const char* key) const { return value_.is_object() && value_.contains(key) && !value_[key].is_null(); }
  Node at(const char* key) const {
    if (!value_.is_object()) wrong(" is no object");
    const std::string path = path_.empty() ? key : path_ + "." + key;
    if (!value_.contains(key)) throw ProfileError{path + " is missing"};
    return {value_[key], path};
  }
  std::vector<Node> items() const {
    if (!value_.is_array()) wrong(" is no array");
    std::vector<Node> all;
    for (std::size_t i = 0; i < value_.size(); ++i) all.emplace_back(value_[i], fmt::format("{}[{}]", path_, i));
    return all;
  }

  double number() const {
    if (!value_.is_number()) wrong(" is no number");
    const double x = value_.get<double>();
    if (!std::isfinite(x) || x < 0) wrong(fmt::format(" is {}; a finite number, not negative, is wanted", x));
    return x;
  }
  int integer(int least) const {
    if (!value_.is_number_integer()) wrong(" is no integer");
    const auto x = value_.get<std::int64_t>();
    if (x < least || x > 1 << 30) wrong(fmt::format(" is {}; it must be at least {}", x, least));
    return static_cast<int>(x);
  }
  std::string text() const {
    if (!value_.is_string()) wrong(" is no string");
    return printable(value_.get<std::string>());
  }
  bool boolean() const {
    if (!value_.is_boolean()) wrong(" is neither true nor false");
    return value_.get<bool>();
  }

  double number(const char* key, double otherwise) const { return has(key) ? at(key).number() : otherwise; }
  int integer(const char* key, int least, int otherwise) const { return has(key) ? at(key).integer(least) : otherwise; }
  std::string text(const char* key) const { return has(key) ? at(key).text() : std::string(); }

 private:
  const json& value_;
  std::string path_;
};

// Refuses duplicate keys.
class Keys {
 public:
  bool operator()(json::parse_event_t event, const json& parsed) {
    if (event == json::parse_event_t::object_start) open_.emplace_back();
    if (event == json::parse_event_t::object_end) open_.pop_back();
    if (event != json::parse_event_t::key) return true;
    Object& object = open_.back();
    object.latest = parsed.get<std::string>();
    if (!object.keys.insert(object.latest).second) throw ProfileError{path() + " stands twice in one object"};
    return true;
  }

 private:
  struct Object {
    std::set<std::string> keys;
    std::string latest;
  };
  std::string path() const {
    std::string path;
    for (const Object& o : open_) path += (path.empty() ? "" : ".") + o.latest;
    return path;
  }
  std::vector<Object> open_;
};

Link read_link(const Node& node) {
  Link link;
  for (const Node& n : node.items()) {
    const Span s{n.number("from", 0), n.at("alpha").number(), n.at("beta").number(), n.number("cpu", 0),
                 n.number("cpu_message", 0)};
    if (link.empty() ? s.from != 0 : s.from <= link.back().from)
      n.at("from").wrong(link.empty() ? " of the first range is not 0" : " does not ascend");
    link.push_back(s);
  }
  return link;
}

std::vector<CodecCost> read_costs(const Node& node) {
  std::vector<CodecCost> costs;
  for (const Node& n : node.items()) {
    const CodecCost c{n.at("ratio").number(),      n.number("call", 0),  n.at("compress").number(),
                      n.at("decompress").number(), n.at("add").number(), n.at("fused").number()};
    if (c.ratio < 1) n.at("ratio").wrong(fmt::format(" is {}, below 1", c.ratio));
    if (!costs.empty() && c.ratio <= costs.back().ratio) n.at("ratio").wrong(" does not ascend");
    costs.push_back(c);
  }
  return costs;
}

constexpr std::pair<const char*, double Device::*> kDeviceFigures[] = {{"launch", &Device::launch},
                                                                       {"staging", &Device::staging},
                                                                       {"look", &Device::look},
                                                                       {"combine", &Device::combine},
                                                                       {"copy", &Device::copy}};

constexpr std::pair<const char*, std::vector<CodecCost> Profile::*> kCodecs[] = {{"f32", &Profile::f32},
                                                                                 {"f64", &Profile::f64},
                                                                                 {"dense_f32", &Profile::dense_f32},
                                                                                 {"dense_f64", &Profile::dense_f64}};

constexpr std::pair<Provider, const char*> kProviders[] = {{Provider::mpi, "natives"}, {Provider::node, "node"}};

Native read_native(const Node& node, Provider provider) {
  Native native;
  native.provider = provider;
  const std::string name = node.at("collective").text();
  const auto collective = schedule::find_collective(name);
  if (!collective) node.at("collective").wrong(" '" + name + "' is none");
  native.collective = *collective;
  native.ranks = node.at("ranks").integer(1);
  native.hosts = node.integer("hosts", 1, 1);
  for (const Node& point : node.at("points").items()) {
    const auto pair = point.items();
    if (pair.size() != 2) point.wrong(" is no pair of bytes and seconds");
    const double bytes = pair[0].number();
    if (!native.points.empty() && bytes <= native.points.back().first) pair[0].wrong(" does not ascend");
    native.points.emplace_back(bytes, pair[1].number());
  }
  return native;
}

Switches read_switches(const Node& node) {
  Switches s;
  s.ranks = node.at("ranks").integer(1);
  for (const auto& [key, at] :
       {std::pair("eager", &Switches::eager), {"eager_reduce", &Switches::eager_reduce}, {"kernel", &Switches::kernel}})
    if (node.has(key)) s.*at = static_cast<std::size_t>(node.at(key).integer(0));
  return s;
}

ordered_json write_switches(const Switches& s) {
  ordered_json j{{"ranks", s.ranks}};
  for (const auto& [key, at] :
       {std::pair("eager", &Switches::eager), {"eager_reduce", &Switches::eager_reduce}, {"kernel", &Switches::kernel}})
    if (s.*at) j[key] = *(s.*at);
  return j;
}

Torus read_torus(const Node& node) {
  Torus t;
  for (const Node& side : node.at("sides").items()) t.sides.push_back(side.integer(1));
  t.hop = node.number("hop", t.hop);
  return t;
}

void read_messages(const Node& node, Messages* m) {
  m->ranks = node.integer("ranks", 1, 1);
  m->hosts = node.integer("hosts", 1, 1);
  if (node.has("links")) {
    const Node links = node.at("links");
    for (std::size_t d = 0; d < topology::kDistances; ++d) {
      const char* name = topology::name(static_cast<topology::Distance>(d));
      if (links.has(name)) m->links[d] = read_link(links.at(name));
    }
  }
  if (node.has("short_calls")) m->short_calls = read_link(node.at("short_calls"));
  if (node.has("full_duplex")) m->full_duplex = node.at("full_duplex").boolean();
  m->nics = node.integer("nics", 0, 1);
  m->step = node.number("step", 0);
  m->agreement = node.number("agreement", 0);
}

// Without links, messages would cost nothing.
UcxMessages read_ucx(const Node& node) {
  UcxMessages m;
  read_messages(node, &m);
  m.library = node.text("library");
  if (!m.known()) node.at("links").wrong(" has none of cache, socket, node and network");
  return m;
}

ordered_json write_link(const Link& link) {
  ordered_json j;
  for (const Span& s : link) {
    j.push_back({{"from", s.from}, {"alpha", s.alpha}, {"beta", s.beta}, {"cpu", s.cpu}});
    if (s.cpu_message > 0) j.back()["cpu_message"] = s.cpu_message;
  }
  return j;
}

void write_messages(const Messages& m, ordered_json* j) {
  (*j)["ranks"] = m.ranks;
  (*j)["hosts"] = m.hosts;
  ordered_json links = ordered_json::object();
  for (std::size_t d = 0; d < topology::kDistances; ++d)
    if (!m.links[d].empty()) links[topology::name(static_cast<topology::Distance>(d))] = write_link(m.links[d]);
  (*j)["links"] = links;
  if (!m.short_calls.empty()) (*j)["short_calls"] = write_link(m.short_calls);
  (*j)["full_duplex"] = m.full_duplex;
  (*j)["nics"] = m.nics;
  (*j)["step"] = m.step;
  (*j)["agreement"] = m.agreement;
}

constexpr std::pair<const char*, NcclHop Device::*> kNcclHops[] = {{"inside", &Device::nccl_inside},
                                                                   {"between", &Device::nccl_between}};

NcclHop read_hop(const Node& node) {
  const NcclHop hop{node.number("step", 0), node.at("byte").number()};
  if (!hop.known()) node.at("byte").wrong(" is 0; a measured time is wanted");
  return hop;
}

Device read_device(const Node& node) {
  Device d;
  d.name = node.text("name");
  d.source = node.text("source");
  for (const auto& [key, at] : kDeviceFigures) d.*at = node.number(key, 0);
  if (node.has("codec")) {
    const Node codec = node.at("codec");
    if (codec.has("f32")) d.f32 = read_costs(codec.at("f32"));
    if (codec.has("f64")) d.f64 = read_costs(codec.at("f64"));
  }
  if (node.has("nccl")) {
    for (const auto& [key, at] : kNcclHops)
      if (node.at("nccl").has(key)) d.*at = read_hop(node.at("nccl").at(key));
  }
  return d;
}

constexpr std::pair<const char*, CodecProbe Profile::*> kProbes[] = {{"probe", &Profile::probe},
                                                                     {"dense_probe", &Profile::dense_probe}};

CodecProbe read_probe(const Node& node) {
  return {node.at("compress").number(), node.at("decompress").number(), node.at("add").number(),
          node.at("fused").number()};
}

Profile read(const Node& root) {
  const int version = root.at("version").integer(0);
  if (version != kProfileVersion) {
    throw ProfileError{
        fmt::format("the profile has version {}; this build reads version {}: measure anew (stretto tune)", version,
                    kProfileVersion)};
  }
  Profile p;
  p.name = root.text("name");
  p.source = root.text("source");
  p.mpi = root.text("mpi");
  p.cores = root.integer("cores", 1, 1);
  read_messages(root, &p);
  if (root.has("torus")) p.torus = read_torus(root.at("torus"));
  p.gamma = root.number("gamma", 0);
  p.copy = root.number("copy", 0);
  if (root.has("codec")) {
    const Node codec = root.at("codec");
    for (const auto& [key, at] : kCodecs)
      if (codec.has(key)) p.*at = read_costs(codec.at(key));
    for (const auto& [key, at] : kProbes)
      if (codec.has(key)) p.*at = read_probe(codec.at(key));
  }
  for (const auto& [provider, key] : kProviders)
    if (root.has(key))
      for (const Node& n : root.at(key).items()) p.natives.push_back(read_native(n, provider));
  if (root.has("switches"))
    for (const Node& n : root.at("switches").items()) p.switches.push_back(read_switches(n));
  if (root.has("device")) p.device = read_device(root.at("device"));
  if (root.has("ucx")) p.ucx = read_ucx(root.at("ucx"));
  if (root.has("quality") && root.at("quality").has("doubts"))
    for (const Node& n : root.at("quality").at("doubts").items()) p.doubts.push_back(n.text());
  return p;
}

ordered_json write_costs(const std::vector<CodecCost>& costs) {
  ordered_json all = ordered_json::array();
  for (const CodecCost& c : costs) {
    all.push_back({{"ratio", c.ratio},
                   {"call", c.call},
                   {"compress", c.compress},
                   {"decompress", c.decompress},
                   {"add", c.add},
                   {"fused", c.fused}});
  }
  return all;
}

ordered_json write_device(const Device& d) {
  ordered_json j = ordered_json::object();
  if (!d.name.empty()) j["name"] = d.name;
  if (!d.source.empty()) j["source"] = d.source;
  for (const auto& [key, at] : kDeviceFigures) j[key] = d.*at;
  if (!d.f32.empty() || !d.f64.empty()) j["codec"] = {{"f32", write_costs(d.f32)}, {"f64", write_costs(d.f64)}};
  for (const auto& [key, at] : kNcclHops)
    if ((d.*at).known()) j["nccl"][key] = {{"step", (d.*at).step}, {"byte", (d.*at).byte}};
  return j;
}

}  // namespace

Status parse(const std::string& text, Profile* profile) noexcept {
  return guarded("to read a profile", [&] {
    try {
      const WholeFloatEnvironment environment;  // strtod reads the numbers
      Keys keys;
      const json root =
          json::parse(text, [&](int, json::parse_event_t event, const json& parsed) { return keys(event, parsed); });
      *profile = read(Node(root, ""));
      return Status::ok;
    } catch (const ProfileError& w) {
      return fail(Status::invalid_argument, "{}", w.what);
    } catch (const json::exception& e) {
      return fail(Status::invalid_argument, "this is no JSON: {}", e.what());
    }
  });
}

std::string to_json(const Profile& p) {
  ordered_json root;
  root["version"] = kProfileVersion;
  root["name"] = p.name;
  root["source"] = p.source;
  root["mpi"] = p.mpi;
  root["cores"] = p.cores;
  write_messages(p, &root);
  if (!p.torus.sides.empty()) root["torus"] = {{"sides", p.torus.sides}, {"hop", p.torus.hop}};
  root["gamma"] = p.gamma;
  root["copy"] = p.copy;
  for (const auto& [key, at] : kCodecs) root["codec"][key] = write_costs(p.*at);
  for (const auto& [key, at] : kProbes) {
    const CodecProbe& c = p.*at;
    if (!c.known()) continue;
    root["codec"][key] = {{"compress", c.compress}, {"decompress", c.decompress}, {"add", c.add}, {"fused", c.fused}};
  }
  for (const auto& [provider, key] : kProviders) {
    root[key] = ordered_json::array();
    for (const Native& n : p.natives) {
      if (n.provider != provider) continue;
      root[key].push_back(
          {{"collective", schedule::name(n.collective)}, {"ranks", n.ranks}, {"hosts", n.hosts}, {"points", n.points}});
    }
  }
  for (const Switches& s : p.switches) root["switches"].push_back(write_switches(s));
  root["device"] = write_device(p.device);
  if (p.ucx) {
    ordered_json& ucx = root["ucx"];
    ucx["library"] = p.ucx->library;
    write_messages(*p.ucx, &ucx);
  }
  if (!p.doubts.empty()) root["quality"]["doubts"] = p.doubts;
  return root.dump(2) + "\n";
}

}  // namespace stretto::model
