#include "mpi/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace stretto::mpi {

void Tally::add(const Tally& other) noexcept {
  calls += other.calls;
  bytes += other.bytes;
  seconds += other.seconds;
  raw_bytes += other.raw_bytes;
  sent_bytes += other.sent_bytes;
  known += other.known;
  promised_error = std::max(promised_error, other.promised_error);
  saved += other.saved;
  predicted += other.predicted;
  predicted_mpi += other.predicted_mpi;
}

void Statistics::add(const Way& way, const Tally& tally, bool own) {
  const int length = tally.bytes > 0 ? std::ilogb(tally.bytes) : -1;
  const std::lock_guard lock(mutex_);
  all_[way].add(tally);
  if (own) {
    const auto [at, fresh] = theirs_.try_emplace({way.operation, length}, tally.seconds);
    if (!fresh) at->second = std::min(at->second, tally.seconds);
  } else {
    Time& t = ours_[way][length];
    t.calls += static_cast<double>(tally.calls);
    t.seconds += tally.seconds;
  }
}

std::map<Way, Tally> Statistics::all() const {
  const std::lock_guard lock(mutex_);
  std::map<Way, Tally> all = all_;
  for (const auto& [way, lengths] : ours_)
    for (const auto& [length, time] : lengths)
      if (const auto own = theirs_.find({way.operation, length}); own != theirs_.end())
        all[way].saved += time.calls * own->second - time.seconds;
  return all;
}

std::string name_of(const Call& call) {
  const std::string name = operation_names[static_cast<std::size_t>(call.operation)];
  switch (call.form) {
    case Form::blocking: return name;
    case Form::nonblocking: return "i" + name;
    case Form::persistent: return name + "_init";
  }
  return name;
}

}  // namespace stretto::mpi
