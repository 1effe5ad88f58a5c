// stretto-doctor: what stretto would use between the ranks of a job, and why (docs/doctor.md). Started under mpirun by `stretto
// doctor`; rank 0 prints one JSON object on one line.
//
// Exit status: 0; 1 when something failed, with the rank and its host on standard error; 2 when the arguments are wrong.

#include <mpi.h>

#include <memory>
#include <stdexcept>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include "apps/mpi_main.hpp"
#include "facts.hpp"
#include "model/profile.hpp"
#include "modules/mpi/carrier.hpp"
#include "node/arena/arena.hpp"
#include "node/collectives/collectives.hpp"
#include "pairs.hpp"
#include "ranks.hpp"
#include "stretto/stretto.h"

namespace {

using namespace stretto::doctor;
namespace node = stretto::node;

// The ways to a peer's memory on this host, in the order in which they are preferred. Collective over its ranks.
Json ways_of_host(MPI_Comm comm) {
  std::unique_ptr<stretto::carrier::Carrier> carrier;
  if (stretto::modules::make_mpi_carrier(comm, {}, &carrier) != stretto::Status::ok)
    throw std::runtime_error(stretto::message());
  node::CarrierExchange exchange(*carrier);
  // A process has an arena as soon as it asks for memory there; so would one that calls stretto_alloc().
  void* buffer = node::arena::allocate(1 << 16, 64);
  std::unique_ptr<node::Collectives> collectives;
  const stretto::Status made = node::Collectives::create(exchange, {}, &collectives);
  const std::string why = made == stretto::Status::ok ? "" : stretto::message();
  Json ways = Json::array();
  Json found = {{"segment", made == stretto::Status::ok}, {"segment_reason", why.empty() ? "in use" : why}};
  if (collectives) {
    for (const node::Access a : {node::Access::process, node::Access::arena, node::Access::xpmem, node::Access::kernel,
                                 node::Access::staged}) {
      const node::Memory& memory = collectives->memory();
      ways.push_back({{"access", node::name(a)},
                      {"answer", node::name(node::answer(a))},
                      {"usable", memory.usable(a)},
                      {"reason", memory.reason(a)}});
    }
  }
  found["ways"] = std::move(ways);
  collectives.reset();
  if (buffer != nullptr) node::arena::release(buffer);
  return found;
}

// One JSON text a rank, to rank 0. Collective.
std::vector<Json> gathered(const Json& mine, const Ranks& ranks) {
  const std::string text = mine.dump();
  const int length = static_cast<int>(text.size());
  std::vector<int> lengths(static_cast<std::size_t>(ranks.size)), from(lengths.size());
  MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, ranks.comm);
  int total = 0;
  for (std::size_t r = 0; r < lengths.size(); ++r) {
    from[r] = total;
    total += lengths[r];
  }
  std::string all(static_cast<std::size_t>(ranks.rank == 0 ? total : 0), ' ');
  MPI_Gatherv(text.data(), length, MPI_CHAR, all.data(), lengths.data(), from.data(), MPI_CHAR, 0, ranks.comm);
  std::vector<Json> parts;
  for (std::size_t r = 0; ranks.rank == 0 && r < lengths.size(); ++r)
    parts.push_back(Json::parse(all.substr(static_cast<std::size_t>(from[r]), static_cast<std::size_t>(lengths[r]))));
  return parts;
}

Json profile_of(const std::string& host, const std::string& mpi) {
  stretto::model::Profile profile;
  if (stretto::model::find(host, mpi, &profile) != stretto::Status::ok)
    return {{"name", nullptr}, {"reason", stretto::message()}};
  std::string messages;
  profile = stretto::model::over(stretto::model::Carrier::mpi, std::move(profile), &messages);
  return {{"name", profile.name},
          {"messages", messages},
          {"where", stretto::model::user_path(host, mpi)},
          {"mpi", profile.mpi}};
}

int examine(int argc, char** argv, int rank) {
  CLI::App app{"Says what stretto would use between the ranks of this job, and why, as JSON. Run it under mpirun."};
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (rank == 0) app.exit(e);
    return e.get_exit_code() == 0 ? 0 : 2;
  }
  const Ranks ranks(MPI_COMM_WORLD);
  MPI_Comm shared = MPI_COMM_NULL;
  MPI_Comm_split_type(ranks.comm, MPI_COMM_TYPE_SHARED, ranks.rank, MPI_INFO_NULL, &shared);
  Json mine = {{"process", facts_of_process()}};
  Json ways = ways_of_host(shared);
  Json pairs = failing_pairs(shared);
  int within = 0;
  MPI_Comm_rank(shared, &within);
  if (within == 0) {
    mine["host"] = facts_of_host();
    mine["host"].update(ways);
    mine["host"].update(pairs);
    mine["codec"] = facts_of_codec();
  }
  MPI_Comm_free(&shared);
  const std::vector<Json> parts = gathered(mine, ranks);
  if (rank != 0) return 0;

  const std::string mpi = mpi_version();
  Json report = {{"stretto", stretto_version()},  {"mpi", mpi},
                 {"modules", facts_of_modules()}, {"profile", profile_of(ranks.names[0], mpi)},
                 {"hosts", Json::array()},        {"ranks", Json::array()}};
  for (int h = 0; h < ranks.hosts; ++h) {
    const std::vector<int> of = ranks.of_host(h);
    const Json& first = parts[static_cast<std::size_t>(of.front())];
    Json one = {{"name", ranks.names[static_cast<std::size_t>(h)]}, {"ranks", of}};
    one.update(first["host"]);
    one["codec"] = first["codec"];
    report["hosts"].push_back(std::move(one));
  }
  for (int r = 0; r < ranks.size; ++r) {
    Json one = {{"rank", r}, {"host", ranks.host_of[static_cast<std::size_t>(r)]}};
    one.update(parts[static_cast<std::size_t>(r)]["process"]);
    report["ranks"].push_back(std::move(one));
  }
  fmt::print("{}\n", report.dump());
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return stretto::mpi_main(argc, argv, "stretto-doctor", examine); }
