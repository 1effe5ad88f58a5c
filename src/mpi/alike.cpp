#include "mpi/alike.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "mpi/texts.hpp"

namespace stretto::mpi {
namespace {

using nlohmann::json;

// FNV-1a: the same in every process, which std::hash does not promise.
std::uint64_t hash_of(const Settings& own) noexcept {
  std::uint64_t hash = 0xCBF29CE484222325u;
  const auto add = [&hash](unsigned char byte) { hash = (hash ^ byte) * 0x100000001B3u; };
  for (const Decisive& d : own.decisive) {
    for (const char c : d.meaning) add(static_cast<unsigned char>(c));
    add(0);
  }
  return hash;
}

std::string to_text(const Settings& own) {
  json all = {{"report", own.report}, {"file", own.report_file}, {"set", json::array()}};
  for (const Decisive& d : own.decisive) all["set"].push_back({d.variable, d.given, d.meaning});
  return all.dump(-1, ' ', false, json::error_handler_t::replace);
}

// Of rank 0, for all.
std::string verdict(const std::vector<std::string>& texts) {
  std::vector<std::vector<Decisive>> ranks;
  json said = {{"report", false}, {"file", ""}};
  for (const std::string& text : texts) {
    const json rank = json::parse(text);
    auto& all = ranks.emplace_back();
    for (const json& d : rank.at("set")) all.push_back({d.at(0), d.at(1), d.at(2)});
    if (said.at("report") || !rank.at("report")) continue;
    said["report"] = true;
    said["file"] = rank.at("file");
  }
  said["difference"] = difference(ranks);
  return said.dump();
}

Status ask(const Settings& own, Alike* alike) {
  std::vector<std::string> texts;
  Status s = gather_texts(to_text(own), &texts);
  std::string said;
  try {
    if (!texts.empty()) said = verdict(texts);
  } catch (...) {  // the others wait for it: nothing is known, on all ranks
  }
  if (s == Status::ok) s = spread_text(&said);
  if (s != Status::ok) return s;
  const json all = json::parse(said);
  alike->difference = all.at("difference");
  alike->report = all.at("report");
  alike->report_file = all.at("file");
  return s;
}

}  // namespace

Alike compare(const Settings& own) noexcept {
  Alike alike;
  const std::uint64_t mine = hash_of(own);
  std::array<std::uint64_t, 2> extremes{mine, ~mine};
  alike.yes = PMPI_Allreduce(MPI_IN_PLACE, extremes.data(), 2, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD) == MPI_SUCCESS &&
              extremes[0] == ~extremes[1];
  if (alike.yes) return alike;
  try {
    if (ask(own, &alike) != Status::ok) alike.difference = message();
  } catch (...) {  // no memory: nothing to tell it with, either
  }
  return alike;
}

}  // namespace stretto::mpi
