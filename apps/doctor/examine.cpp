// stretto-doctor (docs/command.md). `stretto doctor` starts it on several ranks; rank 0 prints one JSON object on one
// line.
//
// Exit status: 0; 1 on failure, with the rank and its host on standard error; 2 if the arguments are wrong.
#include "examine.hpp"
#include "apps/command_line.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include "device/loader.hpp"
#include "device/memory_kind.hpp"
#include "devices.hpp"
#include "facts.hpp"
#include "model/profile/profile.hpp"
#include "node/arena/arena.hpp"
#include "node/collectives/collectives.hpp"
#include "pairs.hpp"
#include "stretto/stretto.h"

namespace stretto::doctor {
namespace {

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

// Accesses to a peer's memory on this host, in order of preference. Collective over its ranks.
Json ways_of_host(node::Exchange& here) {
  // Creates the arena of this process, as stretto_alloc() would.
  void* buffer = node::arena::allocate(1 << 16, 64);
  std::unique_ptr<node::Collectives> collectives;
  const Status made = node::Collectives::create(here, {}, &collectives);
  const std::string why = made == Status::ok ? "" : message();
  Json ways = Json::array();
  Json found = {{"segment", made == Status::ok}, {"segment_reason", why.empty() ? "in use" : why}};
  if (collectives) {
    for (const node::Access a : {node::Access::process, node::Access::arena, node::Access::xpmem, node::Access::kernel,
                                 node::Access::staged}) {
      const node::Memory& memory = collectives->memory();
      ways.push_back({{"access", node::name(a)},
                      {"answer", node::name(node::visibility(a))},
                      {"usable", memory.usable(a)},
                      {"reason", memory.reason(a)}});
    }
  }
  found["ways"] = std::move(ways);
  collectives.reset();
  if (buffer != nullptr) node::arena::release(buffer);
  return found;
}

// All ranks' data, on every rank. Collective.
std::vector<Json> gathered(const Json& mine, node::Exchange& all) {
  const std::string text = mine.dump();
  std::vector<std::uint64_t> lengths;
  check(all.allgather(std::uint64_t{text.size()}, &lengths));
  const std::size_t longest = *std::max_element(lengths.begin(), lengths.end());
  std::string padded = text;
  padded.resize(longest);
  std::string texts(longest * lengths.size(), ' ');
  check(all.allgather(padded.data(), longest, texts.data()));
  std::vector<Json> parts;
  for (std::size_t r = 0; r < lengths.size(); ++r) parts.push_back(Json::parse(texts.substr(r * longest, lengths[r])));
  return parts;
}

Json profile_of(const std::string& host, const std::string& over) {
  model::Profile profile;
  if (model::find(host, over, &profile) != Status::ok) return {{"name", nullptr}, {"reason", message()}};
  std::string messages;
  profile =
      model::over(over.starts_with("UCX") ? model::Carrier::ucx : model::Carrier::mpi, std::move(profile), &messages);
  return {
      {"name", profile.name}, {"messages", messages}, {"where", model::user_path(host, over)}, {"mpi", profile.mpi}};
}

}  // namespace

std::string device_messages_of(backend::Transport& transport) {
  constexpr double limit = 60;  // seconds for all ranks to arrive
  const device::Plugin* plugin = nullptr;
  int device = 0;
  const bool own = device::find_plugin(&plugin) == Status::ok &&
                   device::told(*plugin, plugin->current_device(&device), "") == Status::ok;
  std::vector<int> all;
  check(transport.allgather(own ? 1 : 0, &all));
  if (*std::min_element(all.begin(), all.end()) == 0) return "";
  std::unique_ptr<carrier::DeviceMessages> made;
  return transport.make_device_messages(*plugin, device, limit, &made) == Status::ok && made ? made->name() : "";
}

int examine(int argc, char** argv, int rank, const std::function<Job()>& meet) {
  CLI::App app{
      "Says what stretto would use between the ranks of this job, and why, as JSON. `stretto doctor` starts it."};
  if (int code = 0; !parsed(app, argc, argv, rank == 0, &code)) return code;
  const Job job = meet();
  Json mine = {{"process", facts_of_process()}};
  Json ways = ways_of_host(*job.here);
  Json pairs = failing_pairs(*job.here);
  std::vector<int> ranks_here;  // the lowest rank represents the host
  check(job.here->allgather(rank, &ranks_here));
  const Json devices = rank == ranks_here.front() ? facts_of_devices() : Json{{"list", Json::array()}};
  const Json device_memory =
      carrier_of_device_memory(job.over, job.by_transport, {devices, job.here->size() == job.all->size()});
  mine["first"] = ranks_here.front();
  if (rank == ranks_here.front()) {
    mine["host"] = facts_of_host();
    mine["host"].update(ways);
    mine["host"].update(pairs);
    mine["codec"] = facts_of_codec();
    mine["devices"] = devices;
    mine["name"] = host_name();
  }
  const std::vector<Json> parts = gathered(mine, *job.all);
  if (rank != 0) return 0;

  Json hosts = Json::array(), ranks = Json::array();
  std::vector<int> number(parts.size(), -1);  // by lowest rank: number of the host
  for (std::size_t r = 0; r < parts.size(); ++r) {
    const auto first = parts[r]["first"].get<std::size_t>();
    if (first == r) {
      number[r] = static_cast<int>(hosts.size());
      Json one = {{"name", parts[r]["name"]}, {"ranks", Json::array()}};
      one.update(parts[r]["host"]);
      one["codec"] = parts[r]["codec"];
      one["devices"] = parts[r]["devices"];
      hosts.push_back(std::move(one));
    }
    const int host = number[first];
    hosts[static_cast<std::size_t>(host)]["ranks"].push_back(r);
    Json one = {{"rank", r}, {"host", host}};
    one.update(parts[r]["process"]);
    ranks.push_back(std::move(one));
  }
  const Json report = {{"stretto", stretto_version()},   {"mpi", job.over},
                       {"modules", facts_of_modules()},  {"profile", profile_of(host_name(), job.over)},
                       {"device_memory", device_memory}, {"hosts", std::move(hosts)},
                       {"ranks", std::move(ranks)}};
  fmt::print("{}\n", report.dump());
  return 0;
}

}  // namespace stretto::doctor
