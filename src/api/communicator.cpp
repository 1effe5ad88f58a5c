#include "api/communicator.hpp"

#include <cstring>
#include <utility>

#include "api/comm_cores.hpp"
#include "api/operation/operation.hpp"
#include "backend/schedules.hpp"
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
  agreement.drive_beside(others);
  agreement.route_words(selector.choices().groups());
  data.drive_beside(others);
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
  data.take(this->lanes = lanes);
  // Complete operations leave `live`: walk by position.
  bool may_start_data = true;
  for (std::size_t i = 0; i < live.size();) {
    stretto::api::Operation* o = live[i];
    o->advance(may_start_data, may_block && (o == own || o->is_nonblocking()));
    if (o->done()) {
      o->publish();
      continue;
    }
    may_start_data = may_start_data && o->data_started();
    ++i;
  }
  data.take(this->lanes = {});
}

stretto_comm_s::~stretto_comm_s() { stretto::CommunicationCores::mine().detach(drive); }

void stretto_comm_s::let_others_drive(bool any_thread) {
  selector.force_split(stretto::api::asked_split());
  stretto::CommunicationCores::mine().attach(drive, any_thread);
  is_driven = any_thread;
}

// The thread of a communicator that only callers drive may call the MPI of all such communicators.
bool stretto::api::OtherCommunicators::drive() noexcept {
  return CommunicationCores::mine().drive_here(comm_.transport && !comm_.is_driven);
}

bool stretto::api::Drive::idle() const noexcept { return comm_.idle(); }

bool stretto::api::Drive::drive() noexcept { return drive(false); }
bool stretto::api::Drive::drive_spare() noexcept { return drive(true); }

// An idle core takes over the caller's lead and trail steps, so that a collective completes even if its caller never
// polls.
bool stretto::api::Drive::drive(bool spare) noexcept {
  const Guard guard(comm_.driving, std::try_to_lock);
  if (!guard || comm_.live.empty()) return false;
  const std::size_t before = comm_.live.size();
  const std::uint64_t moved = comm_.moves();
  comm_.progress({.before = !comm_.caller_leads, .after = spare}, false);
  return comm_.live.size() != before || comm_.moves() != moved;
}

void stretto_comm_s::give_up(stretto::Status status, const char* why, std::uint64_t number,
                             std::uint64_t agreement_number) noexcept {
  std::array<char, 512> text{};
  stretto::copy_text(why, text);
  if (!broken) broken_by = text;
  broken = true;
  serves_in = ~0u;
  agreement.give_up(status, text.data(), agreement_number);
  data.give_up(status, text.data(), number);
  static_cast<void>(stretto::fail(status, std::string_view(text.data())));
  if (backends.node) backends.node->give_up(status);
  if (backends.nodes) backends.nodes->give_up(status);
}
