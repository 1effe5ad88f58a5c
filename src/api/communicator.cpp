#include "api/communicator.hpp"

#include <cstring>
#include <utility>

#include "api/comm_cores.hpp"
#include "api/operation/operation.hpp"
#include "backend/schedules.hpp"
#include "base/guarded.hpp"
#include "base/progress/communication_cores.hpp"
#include "device/loader.hpp"

stretto_comm_s::stretto_comm_s(stretto::api::Carriers&& c, std::shared_ptr<stretto::select::SharedChooser> chooser,
                               std::string no_node)
    : codec_threads(stretto::codec::ThreadPool::shared(chooser->chooser.profile().codec_threads)),
      agreement(*c.agreement),
      data(*c.data),
      selector(std::move(chooser), c.data->size(), stretto::engine::most_messages(*c.data)),
      rank(c.data->rank()),
      size(c.data->size()) {
  backends.schedules = stretto::backend::make_schedules_backend(data, selector.choices().groups());
  backends.no_node = std::move(no_node);
  agreement.drive_beside(others_);
  agreement.route_words(selector.choices().groups());
  data.drive_beside(others_);
  if (codec_threads) data.share_codec(&codec_threads->parallel());
  if (stretto::device::may_be_addressed()) prepared.ask_for_devices();
  carriers = std::move(c);
}

stretto::Status stretto::api::usable(const stretto_comm_s* comm) noexcept {
  if (!comm) return fail(Status::invalid_argument, "comm is NULL");
  if (!comm->inherited()) return Status::ok;
  return fail(Status::unsupported, "a communicator was used in a forked child of the process that made it");
}

void stretto_comm_s::progress(stretto::engine::Lanes lanes, bool may_block,
                              const stretto::api::Operation* own) noexcept {
  lanes_ = lanes;
  data.take(lanes_);
  // Complete operations leave `live`: walk by position.
  bool may_start_data = true;
  for (std::size_t i = 0; i < live_.size();) {
    stretto::api::Operation* o = live_[i];
    o->advance(may_start_data, may_block && (o == own || o->is_nonblocking()));
    if (o->done()) {
      o->publish();
      continue;
    }
    may_start_data = may_start_data && o->data_started();
    ++i;
  }
  lanes_ = {};
  data.take(lanes_);
}

stretto_comm_s::~stretto_comm_s() {
  stretto::CommunicationCores::mine().detach(drive_);
  if (!backends.node || backends.node->messages_sent().load(std::memory_order_acquire) != 0) return;
  carriers.agreement->expect_nothing();
  carriers.data->expect_nothing();
}

void stretto_comm_s::let_others_drive(bool any_thread) {
  selector.force_split(stretto::api::asked_split());
  stretto::CommunicationCores::mine().attach(drive_, any_thread);
  is_driven_ = any_thread;
}

// The thread of a communicator that only callers drive may call the MPI of all such communicators.
bool stretto::api::OtherCommunicators::drive() noexcept {
  return CommunicationCores::mine().drive_here(comm_.transport && !comm_.is_driven());
}

bool stretto::api::Drive::idle() const noexcept { return comm_.idle(); }

bool stretto::api::Drive::drive() noexcept { return comm_.drive(false); }
bool stretto::api::Drive::drive_spare() noexcept { return comm_.drive(true); }

// An idle core takes over the caller's lead and trail steps: a collective completes even if its caller never polls.
bool stretto_comm_s::drive(bool spare) noexcept {
  const stretto::api::Guard held = try_guard();
  if (!held || live_.empty()) return false;
  const std::size_t before = live_.size();
  const std::uint64_t moved = moves();
  progress({.before = !caller_leads_, .after = spare}, false);
  return live_.size() != before || moves() != moved;
}

void stretto_comm_s::enlist(stretto::api::Operation* o) {
  live_.push_back(o);
  in_flight_.store(true, std::memory_order_release);
}

void stretto_comm_s::retire(stretto::api::Operation* o) noexcept {
  std::erase(live_, o);
  in_flight_.store(!live_.empty(), std::memory_order_release);  // after the last, no other thread touches it
}

bool stretto_comm_s::bounded_by_lines(const stretto::call::Call& call) noexcept {
  return backends.nodes &&
         stretto::value_or(false, [&] { return selector.bounded_by_lines(call, backends.serve(call)); });
}

bool stretto_comm_s::moves_in_memory(const stretto::call::Call& call) const noexcept {
  const auto& node = backends.node;
  return node && (is_usable() ? node->serves(call) : node->suits(call));
}

std::function<std::string()> stretto_comm_s::ended() const { return backends.node ? backends.node->ended() : nullptr; }

void stretto_comm_s::forget_prepared() noexcept {
  const stretto::api::Guard held = guard();
  prepared.forget();
}

stretto::Status stretto_comm_s::refusal(const char* before) const noexcept {
  if (!broken_) return stretto::Status::ok;
  return stretto::fail(stretto::Status::timeout, "{}the communicator is unusable: {}", before, broken_by_.data());
}

void stretto_comm_s::give_up(stretto::Status status, const char* why, std::uint64_t number,
                             std::uint64_t agreement_number) noexcept {
  std::array<char, 512> text{};
  stretto::copy_text(why, text);
  if (!broken_) broken_by_ = text;
  broken_ = true;
  serves_in_ = ~0u;
  agreement.give_up(status, text.data(), agreement_number);
  data.give_up(status, text.data(), number);
  static_cast<void>(stretto::fail(status, std::string_view(text.data())));
  if (backends.node) backends.node->give_up(status);
  if (backends.nodes) backends.nodes->give_up(status);
}
