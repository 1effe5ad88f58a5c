#include "mpi/statistics.hpp"

#include <algorithm>

namespace stretto::mpi {

void Tally::add(const Tally& other) noexcept {
  calls += other.calls;
  bytes += other.bytes;
  seconds += other.seconds;
  raw_bytes += other.raw_bytes;
  sent_bytes += other.sent_bytes;
  promised_error = std::max(promised_error, other.promised_error);
  saved += other.saved;
}

void Statistics::add(const Way& way, const Tally& tally) {
  const std::lock_guard lock(mutex_);
  all_[way].add(tally);
}

std::map<Way, Tally> Statistics::all() const {
  const std::lock_guard lock(mutex_);
  return all_;
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
