#include "model/decide.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "model/candidates.hpp"
#include "model/native.hpp"
#include "model/nodes.hpp"
#include "payload/payload.hpp"

namespace stretto::model {
namespace {

bool is_short(const Question& q) noexcept { return !q.compress && q.schedule.empty() && q.bytes <= kLongestShort; }

bool stays_in_memory(const Question& q, int hosts) noexcept {
  const bool any_payload = q.payload <= static_cast<int>(payload::Kind::raw);
  return hosts == 1 && q.node && any_payload && !q.code_space && q.segment == 0 && q.raw_below == 0 &&
         q.schedule.empty();
}

double seconds_in_memory(const Profile& profile, const Question& q) {
  return profile.device.launch + 2 * static_cast<double>(q.bytes) * profile.copy;
}

// The MPI has one known schedule between hosts.
bool knows_mpi(const Chooser& chooser, const Question& q) {
  const topology::Topology& t = chooser.topology();
  return !q.started && own_may_serve(q) && known_of_mpi(chooser.profile().mpi, q, t);
}

// Without measurements memory takes a part of the MPI's time. This shortens a communicator's first call by a tenth.
bool node_alone(const Chooser& chooser, const Question& q) noexcept {
  const auto measures = [&q](const Native& n) { return n.collective == q.collective; };
  const std::vector<Native>& natives = chooser.profile().natives;
  return q.natives && q.node && !q.device && own_may_serve(q) && unmeasured_node(chooser.topology().ranks()) < 1 &&
         std::none_of(natives.begin(), natives.end(), measures);
}

// Lines serve unless the MPI was measured, or a long vector has a shorter way (`other`), perhaps the MPI's of unknown
// time. Within a bound they always serve: ranks may name the type differently, and must not differ in what they
// predict.
bool gain_lines(const Chooser& chooser, const Question& q, const Candidate& other, Candidate* lines) {
  if (!chooser.by_lines(q, lines)) return false;
  if (q.compress) return true;
  const topology::Topology& t = chooser.topology();
  // Long vectors cross the network whole. Many messages take longer than predicted where ranks share cores.
  const bool is_long = q.bytes > schedule::kLongestShortCall && q.collective == schedule::Collective::allreduce;
  const double part = other.native ? 1.1 : share_cores(t, chooser.profile()) ? 0.65 : 0.8;
  if (is_long && other.seconds < part * lines->seconds) return false;
  const auto mpi = measured_native(chooser.profile(), Provider::mpi, q.collective, t.ranks(), t.hosts(),
                                   static_cast<double>(q.bytes));
  return !q.native || !mpi || lines->seconds < *mpi;
}

}  // namespace

Status decide(Chooser& chooser, const Question& question, ModelChoice* decided, bool predicts) {
  Question q = on_grid(question);
  const bool is_known = knows_mpi(chooser, q);
  // So short a stream may cost more than its predicted gain.
  if (is_known && q.bytes <= kLongestShort && q.payload < 0) q.payload = static_cast<int>(payload::Kind::raw);
  // In one host's memory a native collective beats messages, and for exact values streams.
  q.natives = (is_short(q) && !is_known) || stays_in_memory(q, chooser.topology().hosts());
  q.contest = true;
  Candidate best;
  Candidate& own = decided->own;
  if (node_alone(chooser, q)) {
    own = {};
    own.native = own.assumed = true;
    own.provider = Provider::node;
    best = own;
    decided->mpi_seconds = 0;
  } else if (const Status s = chooser.choose(q, &best, &own, &decided->mpi_seconds); s != Status::ok) {
    return s;
  }
  if (own.native && own.seconds == 0 && stays_in_memory(q, chooser.topology().hosts()) && !is_short(q)) {
    best.seconds = own.seconds = seconds_in_memory(chooser.profile(), q);
    const double part = own.provider == Provider::node ? unmeasured_node(chooser.topology().ranks()) : 1;
    if (q.native) decided->mpi_seconds = own.seconds / part;
  }
  const bool trusted = best.native || q.bytes > kLongestShort || is_known;
  const topology::Topology& t = chooser.topology();
  const bool precise = is_known || is_measured_well(chooser.profile(), q, t.ranks(), t.hosts());
  const bool enough = trusted && best.seconds < longest_worthwhile(own.seconds, precise);
  decided->taken = !own.native || enough ? best : own;
  if (Candidate lines; gain_lines(chooser, q, decided->taken, &lines)) {
    decided->taken = std::move(lines);
    return Status::ok;
  }
  if (!predicts || !own.native || decided->taken.seconds > 0) return Status::ok;
  q.natives = q.contest = false;
  Candidate told;
  double mpi_seconds = 0;
  if (chooser.choose(q, &best, &told, &mpi_seconds) != Status::ok || told.provider != own.provider) return Status::ok;
  decided->taken = own = told;
  decided->mpi_seconds = mpi_seconds;
  return Status::ok;
}

}  // namespace stretto::model
