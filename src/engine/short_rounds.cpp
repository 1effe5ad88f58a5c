#include "engine/short_rounds.hpp"

#include <string>

#include <fmt/format.h>

namespace stretto::engine {

// Rounds have different peers, so the run's number and signature are enough.
std::uint64_t ShortRounds::tag_of(const ShortRun& run, const ShortMessage& message) const noexcept {
  return tags_.tag(run.number, 0, mix(mix(run.signature, run.number), message.bytes));
}

Status ShortRounds::begin(const ShortRun& run, std::span<const ShortMessage> messages) noexcept {
  used_ = open_ = 0;
  status_ = Status::ok;
  if (messages.size() > transfers_.size())
    return fail(Status::internal, "{} messages in a round of {}", messages.size(), transfers_.size());
  for (const bool sends : {false, true})  // a receive that waits spares a copy
    for (const ShortMessage& m : messages) {
      if (m.sends != sends) continue;
      const std::uint64_t id = std::uint64_t{kSlot} << 32 | used_;
      const Status s = sends ? carrier_.start_send(m.peer, tag_of(run, m), m.data, m.sent(), id)
                             : carrier_.start_recv(m.peer, tag_of(run, m), m.data, m.bytes, id);
      if (s != Status::ok) return s;
      transfers_[used_++] = {m, true};
      ++open_;
    }
  return Status::ok;
}

void ShortRounds::complete(std::uint32_t index, const carrier::Completion& done) noexcept {
  if (index >= used_ || !transfers_[index].open) return;
  transfers_[index].open = false;
  --open_;
  if (status_ != Status::ok) return;
  const ShortMessage& m = transfers_[index].message;
  status_ = done.status;
  const bool fits = m.length != nullptr ? done.bytes <= m.bytes : done.bytes == m.bytes;
  if (!m.sends && m.length != nullptr) *m.length = done.bytes;
  if (done.status == Status::ok && !m.sends && !fits)  // signatures of few bits may be equal by chance
    status_ = fail(Status::incompatible, "rank {} calls differently: it sent {} bytes where this rank expects {}",
                   m.peer, done.bytes, m.bytes);
  if (status_ == Status::ok) return;
  copy_message(text_);
}

Status ShortRounds::status() const noexcept {
  return status_ == Status::ok ? status_ : fail(status_, "{}", text_.data());
}

// A rank that calls alike sends no unexpected message of the run's number.
Status ShortRounds::compare(const ShortRun& run) noexcept {
  for (std::size_t i = 0; i < used_; ++i) {
    const Transfer& t = transfers_[i];
    carrier::Arrival arrival;
    if (!t.open || !carrier_.peek(t.message.peer, &arrival) || !tags_.may_be_of(run.number, arrival.tag) ||
        arrival.tag == tag_of(run, t.message))
      continue;
    return fail(
        Status::incompatible,
        "{} of several hosts, rank {}: rank {} calls differently: it sent {}{} bytes, and differs in collective, "
        "count, type, operation, root, bound or schedule (check = 1 tells which)",
        run.what, carrier_.rank(), arrival.peer, arrival.in_parts ? "at least " : "", arrival.bytes);
  }
  return Status::ok;
}

Status ShortRounds::overdue(const ShortRun& run) const noexcept {
  std::array<char, 256> text{};
  char* at = text.data();
  for (std::size_t i = 0; i < used_; ++i) {
    const Transfer& t = transfers_[i];
    if (!t.open) continue;
    at = fmt::format_to_n(at, text.data() + text.size() - 1 - at, "{} rank {} ({})", at == text.data() ? "" : ",",
                          t.message.peer, t.message.sends ? "to take a message" : "its message")
             .out;
    if (at >= text.data() + text.size() - 1) break;
  }
  return fail(Status::timeout, "{} of several hosts, rank {}: nothing came for {:.3g} s; missing is{}", run.what,
              carrier_.rank(), run.timeout, text.data());
}

int ShortRounds::missing() const noexcept {
  for (std::size_t i = 0; i < used_; ++i)
    if (transfers_[i].open) return transfers_[i].message.peer;
  return -1;
}

void ShortRounds::withdraw() noexcept {
  for (std::size_t i = 0; i < used_; ++i) {
    if (!transfers_[i].open) continue;
    transfers_[i].open = false;
    static_cast<void>(carrier_.cancel(std::uint64_t{kSlot} << 32 | i));
  }
  open_ = 0;
}

}  // namespace stretto::engine
