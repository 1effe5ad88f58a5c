#include "mpi/report/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace stretto::mpi {

void Ignored::add(const Ignored& other) noexcept {
  const std::uint64_t both = calls + other.calls;
  if (other.values > values) *this = other;
  calls = both;
}

void Tally::add(const Tally& other) noexcept {
  calls += other.calls;
  bytes += other.bytes;
  seconds += other.seconds;
  raw_bytes += other.raw_bytes;
  sent_bytes += other.sent_bytes;
  known += other.known;
  promised_error = std::max(promised_error, other.promised_error);
  error_with_rounding = std::max(error_with_rounding, other.error_with_rounding);
  saved += other.saved;
  saved_least += other.saved_least;
  saved_most += other.saved_most;
  predicted += other.predicted;
  predicted_mpi += other.predicted_mpi;
  in_flight += other.in_flight;
  hidden += other.hidden;
  attended += other.attended;
  split = std::max(split, other.split);
  ignored.add(other.ignored);
}

void Statistics::add(RowKey key, const Tally& tally, Server server) {
  const int length = tally.bytes > 0 ? std::ilogb(tally.bytes) : -1;
  while (tally.bytes > kLargestOfSize[key.size]) ++key.size;
  const std::lock_guard lock(mutex_);
  Record& record = all_[key];
  record.tally.add(tally);
  const std::chrono::duration<double> now = std::chrono::steady_clock::now() - begun_;
  record.timeline.add(now.count(), tally.seconds, tally.calls);
  if (server == Server::mpi) theirs_[{key.operation, length}].add(tally.seconds);
  if (server == Server::stretto) ours_[key][length].add(tally.seconds);
}

double Statistics::LatestTimes::quantile(double part) const noexcept {
  std::array<float, 63> sorted = kept_;
  const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(calls_, sorted.size()));
  const auto wanted = sorted.begin() + static_cast<std::ptrdiff_t>(part * static_cast<double>(end - sorted.begin()));
  std::nth_element(sorted.begin(), wanted, end);
  return wanted == end ? 0 : static_cast<double>(*wanted);
}

std::map<RowKey, Record> Statistics::all() const {
  const std::lock_guard lock(mutex_);
  std::map<RowKey, Record> all = all_;
  for (const auto& [key, lengths] : ours_)
    for (const auto& [length, latest] : lengths)
      if (const auto own = theirs_.find({key.operation, length}); own != theirs_.end()) {
        const auto gained = [&here = latest, &there = own->second](double theirs, double ours) {
          return here.calls() * (there.quantile(theirs) - here.quantile(ours));
        };
        Tally& tally = all[key].tally;
        tally.saved += gained(0.5, 0.5);
        tally.saved_least += gained(0.25, 0.75);
        tally.saved_most += gained(0.75, 0.25);
      }
  return all;
}

namespace {

std::string operation_of(const WrappedCall& call) { return operation_names[static_cast<std::size_t>(call.operation)]; }

}  // namespace

std::string name_of_start(const WrappedCall& call) { return operation_of(call) + "_start"; }

std::string name_of(const WrappedCall& call) {
  const std::string name = operation_of(call);
  switch (call.form) {
    case Form::blocking: return name;
    case Form::nonblocking: return "i" + name;
    case Form::persistent: return name + "_init";
  }
  return name;
}

}  // namespace stretto::mpi
