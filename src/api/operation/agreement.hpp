// The first phase of an operation: the ranks compare words of their calls, and exchange signatures where words differ
// or do not suffice. In a host's memory a started call's data move with its word.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "api/operation/phase.hpp"
#include "api/operation/words.hpp"
#include "backend/backend.hpp"
#include "call/agreement.hpp"

namespace stretto::api {

struct Signatures {
  // `failure`: found in this rank's arguments, with this thread's message. `unchecked`: calls without an agreement
  // before this one.
  void sign(const CallState& c, Status failure, std::uint64_t unchecked) noexcept;

  // Equal arguments are all that the ranks must know.
  bool is_uniform(const select::Needs& needs) const noexcept {
    return needs.check && !needs.values() && own.status == 0;
  }
  // To compare in memory; 0: signatures must be exchanged.
  std::uint64_t word(const select::Needs& needs) const noexcept { return is_uniform(needs) ? digest(own) : 0; }

  select::AgreedValues values() const noexcept { return {merged.values, merged.contributions, merged.ratios()}; }

  Signature own, merged;  // merged: of all ranks, once they agree
  bool made = false;
};

class Agreement {
 public:
  // `compared`: the ranks have compared words, and must exchange signatures.
  Agreement(CallState& c, bool compared) noexcept : c_(c), compared_(compared) {
    if (compared && agrees_by_messages(c.comm)) c.agreement_run = number_ = c.comm.agreement.latest();
  }

  // `own`: the failure found in the arguments, with this thread's message.
  Step begin(Status own) noexcept;

  // After all earlier calls; blocks.
  bool is_comparing() const noexcept { return state_ == State::comparing; }
  Step compare() noexcept;

  // Words are exchanged in the order of the calls, and signatures after meetings, whatever the order in which meetings
  // end. Unchecked calls need none.
  bool is_signing() const noexcept { return state_ == State::signing; }
  bool may_sign() const noexcept { return is_signing() || (meeting_ && c_.decision.needs.check); }
  Step exchange();

  Step test();
  std::optional<Step> wait();  // none: nothing is in flight

  backend::Meeting* meeting() const noexcept { return meeting_.get(); }
  bool moves_data() const noexcept { return moves_data_; }  // in the meeting
  const Signatures& signatures() const noexcept { return signatures_; }

 private:
  enum class State : std::uint8_t {
    none,
    comparing,  // one word of each rank in a host's memory, after all earlier calls
    meeting,    // the same for a started call, and its data where they move in that memory
    signing,    // until every earlier operation has begun to agree
    agreeing    // words of messages, and signatures where those differ
  };

  Step meet() noexcept;
  Step end_meeting(Status s) noexcept;
  Step compared(Status s, bool same) noexcept;
  Step start_signatures();
  Step conclude(Status s);

  CallState& c_;
  State state_ = State::none;
  const bool compared_;
  Signatures signatures_;
  std::uint64_t unchecked_ = 0;
  std::unique_ptr<backend::Meeting> meeting_;
  bool moves_data_ = false;
  bool words_ = false;                            // in flight
  bool same_ = false;                             // the words
  bool carried_ = false;                          // the values travel with the word
  std::uint64_t number_ = engine::Engine::kNext;  // of the words
  engine::Request request_;
};

}  // namespace stretto::api
