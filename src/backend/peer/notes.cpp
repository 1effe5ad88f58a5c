#include "backend/peer/notes.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/guarded.hpp"
#include "base/retained.hpp"
#include "base/waiting.hpp"

namespace stretto::backend {
namespace {

constexpr std::uint64_t kTagOfNotes = 0;

}  // namespace

PeerNotes::PeerNotes(int rank, std::size_t ranks)
    : rank_(rank), lost_(ranks), closed_(ranks), mail_(std::make_unique<Mail>()) {
  mail_->inbox.resize(ranks);
  closed_[static_cast<std::size_t>(rank)] = 1;
}

PeerNotes::~PeerNotes() {
  if (carrier_) withdraw();
}

void PeerNotes::begin(std::unique_ptr<carrier::Carrier> carrier) noexcept {
  carrier_ = std::move(carrier);
  for (std::size_t r = 0; r < lost_.size(); ++r) {
    if (static_cast<int>(r) != rank_) listen(r);
  }
}

Status PeerNotes::tell(int peer, const Note& note, std::uint64_t transfer) noexcept {
  if (spare_letters_.empty()) {
    const Status s = guarded("for messages between devices", [&] { spare_letters_.emplace_back(); });
    if (s != Status::ok) return s;
  }
  mail_->letters.splice(mail_->letters.end(), spare_letters_, spare_letters_.begin());
  Letter& letter = mail_->letters.back();
  letter = {note, lost_.size() + ++numbers_, transfer};
  const Status s = carrier_->start_send(peer, kTagOfNotes, &letter.note, sizeof letter.note, letter.id);
  if (s != Status::ok) mail_->letters.pop_back();
  return s;
}

void PeerNotes::listen(std::size_t peer) noexcept {
  if (carrier_->start_recv(static_cast<int>(peer), kTagOfNotes, &mail_->inbox[peer], sizeof(Note), peer) != Status::ok)
    lost_[peer] = 1;
}

Status PeerNotes::hear(Reader& reader) noexcept { return hear(&reader); }

Status PeerNotes::hear(Reader* reader) noexcept {
  std::array<carrier::Completion, 16> done;
  for (std::size_t n = done.size(); n == done.size();) {
    if (const Status s = carrier_->wait_any(done, &n, 0); s != Status::ok) return s;
    for (std::size_t i = 0; i < n; ++i) {
      if (const Status s = heard(done[i], reader); s != Status::ok) return s;
    }
  }
  return Status::ok;
}

Status PeerNotes::heard(const carrier::Completion& c, Reader* reader) noexcept {
  if (c.id >= lost_.size()) {
    const auto at =
        std::find_if(mail_->letters.begin(), mail_->letters.end(), [&](const Letter& l) { return l.id == c.id; });
    if (at == mail_->letters.end()) return Status::ok;
    if (reader && at->transfer != 0) reader->left(at->transfer);
    spare_letters_.splice(spare_letters_.begin(), mail_->letters, at);
    return Status::ok;
  }
  const auto peer = static_cast<std::size_t>(c.id);
  if (c.status != Status::ok || c.bytes != sizeof(Note)) {
    lost_[peer] = 1;
    return Status::ok;
  }
  const Note note = mail_->inbox[peer];
  if (note.kind == Note::closed) closed_[peer] = 1;
  listen(peer);
  return reader && note.kind != Note::closed ? reader->read(static_cast<int>(peer), note) : Status::ok;
}

bool PeerNotes::is_open() const noexcept {
  for (std::size_t r = 0; r < lost_.size(); ++r) {
    if (!closed_[r] && !lost_[r]) return true;
  }
  return !mail_->letters.empty();
}

bool PeerNotes::close(bool says, Clock::time_point limit) noexcept {
  if (!carrier_) return true;
  for (int r = 0; says && r < static_cast<int>(lost_.size()); ++r) {
    if (r != rank_ && !lost(r) && tell(r, {Note::closed}) != Status::ok) lost_[static_cast<std::size_t>(r)] = 1;
  }
  Waiting waiting(true);
  while (is_open() && Clock::now() < limit && hear(nullptr) == Status::ok) waiting.rest();
  withdraw();
  return std::all_of(closed_.begin(), closed_.end(), [](char closed) { return closed != 0; });
}

void PeerNotes::withdraw() noexcept {
  bool settled = true;
  for (std::size_t r = 0; r < lost_.size(); ++r) {
    if (static_cast<int>(r) != rank_ && !lost_[r]) settled = carrier_->cancel(r) && settled;
  }
  for (const Letter& l : mail_->letters) settled = carrier_->cancel(l.id) && settled;
  carrier_.reset();
  if (settled) return;
  retain(std::move(mail_));
}

}  // namespace stretto::backend
