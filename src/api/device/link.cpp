#include "api/device/link.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "api/communicator.hpp"
#include "api/creation/modules.hpp"
#include "api/device/native.hpp"
#include "api/device/placement.hpp"
#include "api/operation/words.hpp"
#include "base/guarded.hpp"
#include "call/enums.hpp"
#include "call/schedule_names.hpp"
#include "carrier/paced.hpp"
#include "select/forced.hpp"

namespace stretto::api {
namespace {

constexpr const char* kCarrierSetting = "STRETTO_DEVICE_CARRIER";
constexpr const char* kCodesSetting = "STRETTO_DEVICE_CODES";

enum Fact : std::uint64_t {
  no_nccl = 1,
  no_transport = 2,
  wants_nccl = 4,
  wants_transport = 8,
  wants_host = 16,
  wants_unknown = 32,
  failed = 64,
  paces_another_carrier = 128,
  wants_peer = 256,
  unknown_codes = 512
};

std::string_view given(const char* name = kCarrierSetting) noexcept {
  const char* const text = secure_getenv(name);
  return text ? text : "";
}

std::optional<payload::Codes> asked_codes() noexcept {
  using payload::Codes;
  const std::string_view name = given(kCodesSetting);
  if (name.empty()) return Codes::in_passing;
  if (name == "when_met") return Codes::when_met;
  return name == "ahead" ? std::optional(Codes::ahead) : std::nullopt;
}

std::uint64_t wanted() noexcept {
  const std::string_view name = given();
  if (name.empty() && carrier::is_paced()) return wants_host;
  if (name.empty()) return 0;
  if (carrier::is_paced() && (name == "nccl" || name == "transport" || name == "peer")) return paces_another_carrier;
  if (name == "nccl") return wants_nccl;
  if (name == "peer") return wants_peer;
  if (name == "transport") return wants_transport;
  return name == "host" ? wants_host : wants_unknown;
}

class LinkMaker {
 public:
  LinkMaker(stretto_comm_s& comm, double timeout) : comm_(comm), link_(comm.device_link), timeout_(timeout) {}

  Status run() {
    std::uint64_t all = 0;
    if (const Status s = begin(&all); s != Status::ok) return s;
    if (all & wants_unknown)
      return fail(Status::unsupported, "{} is '{}' here; ranks may give nccl, transport, peer or host", kCarrierSetting,
                  given());
    if (all & unknown_codes)
      return fail(Status::unsupported, "{} is '{}' here; ranks may give when_met or ahead", kCodesSetting,
                  given(kCodesSetting));
    if (all & paces_another_carrier)
      return fail(Status::unsupported,
                  "{} slows down what passes the host, and {} of the same rank asks for another way",
                  carrier::kPaceSetting, kCarrierSetting);
    const std::uint64_t wants = all & (wants_nccl | wants_transport | wants_peer | wants_host);
    if (std::popcount(wants) > 1)
      return fail(Status::unsupported, "ranks ask for different ways of devices' messages: here {} is '{}'{}",
                  kCarrierSetting, given(), carrier::is_paced() ? ", and messages are slowed down" : "");
    Status s = Status::ok;
    if ((wants == 0 || wants == wants_nccl) && !(all & no_nccl)) s = make_nccl();
    if (s == Status::ok && (wants == 0 || wants == wants_transport) && !link_.messages() && comm_.transport)
      s = make_of_transport();
    if (s == Status::ok && (wants == 0 || wants == wants_peer) && !link_.messages()) s = make_peer();
    if (s != Status::ok) return s;
    link_.made = true;
    if (link_.library) comm_.backends.device = make_device_backend(*link_.library, comm_.data);
    if (link_.messages() || wants == 0 || wants == wants_host) return Status::ok;
    link_.made = false;
    const char* const what = wants & wants_nccl ? "nccl" : wants & wants_peer ? "peer" : "transport";
    return fail(Status::unsupported, "{} cannot be had on all ranks, as {} of some rank asks: {}", what,
                kCarrierSetting,
                wants & wants_nccl   ? link_.why_no_library
                : wants & wants_peer ? link_.why_no_peer
                                     : "the transport does not take memory of devices");
  }

 private:
  Status begin(std::uint64_t* all) {
    const std::optional<payload::Codes> codes = asked_codes();
    std::uint64_t own = codes ? wanted() : wanted() | unknown_codes;
    comm_.selector.force_codes(codes.value_or(payload::Codes::in_passing));
    backend::DeviceCommId made{};
    Status s = own & (wants_peer | wants_transport | wants_host) ? Status::unsupported : find_module("nccl", &module_);
    if (s == Status::ok) {
      std::string found;
      s = module_->finds(&found);
    }
    if (s == Status::ok && comm_.rank == 0) s = module_->make_device_comm_id(&made);
    if (s != Status::ok) {
      own |= no_nccl;
      say_why(own & (wants_peer | wants_transport | wants_host) ? "another way is asked for" : message());
    }
    std::vector<std::uint64_t> words(1 + sizeof id_ / sizeof(std::uint64_t)), merged(words.size());
    words[0] = own;
    if (comm_.rank == 0) std::memcpy(&words[1], made.data(), sizeof made);
    if (const Status t = exchange(words, &merged); t != Status::ok) return t;
    std::memcpy(id_.data(), &merged[1], sizeof id_);
    *all = merged[0];
    if ((*all & no_nccl) && !(own & no_nccl)) say_why("another rank has no NCCL");
    return Status::ok;
  }

  Status make_nccl() {
    const device::Device::Visit visit(*comm_.device);
    const backend::DevicePlace place{&comm_.device->plugin(), comm_.device->number(), comm_.rank, comm_.size, timeout_};
    return keep(module_->make_device_comm(place, id_, &link_.library), [this] { link_.library.reset(); });
  }

  Status make_peer() {
    const device::Device::Visit visit(*comm_.device);
    std::vector<backend::PeerCard> cards(static_cast<std::size_t>(comm_.size));
    Status s = share(backend::peer_card(comm_.device->number()), &cards);
    if (s != Status::ok) return s;
    const auto& own = cards[static_cast<std::size_t>(comm_.rank)];
    const bool crosses =
        std::any_of(cards.begin(), cards.end(), [&](const auto& card) { return card.process != own.process; });
    s = comm_.carriers.devices || !comm_.transport ? Status::ok
                                                   : comm_.transport->make_carrier(&comm_.carriers.devices);
    if (s == Status::ok) s = backend::make_peer_messages(*comm_.device, cards, &comm_.carriers.devices, &link_.peer);
    if (crosses) {
      device::MemoryHandle handle{};
      std::vector<device::MemoryHandle> handles(cards.size());
      if (s == Status::ok) s = link_.peer->give(&handle);
      if (const Status t = share(handle, &handles); t != Status::ok) return t;
      if (s == Status::ok) s = link_.peer->take(handles);
    }
    return keep(
        s, [this] { link_.peer.reset(); }, &link_.why_no_peer);
  }

  template <class T>
  Status share(const T& own, std::vector<T>* all) {
    static_assert(sizeof(T) % sizeof(std::uint64_t) == 0);
    constexpr std::size_t words_of_one = sizeof(T) / sizeof(std::uint64_t);
    std::vector<std::uint64_t> words(words_of_one * all->size()), merged(words.size());
    std::memcpy(&words[words_of_one * static_cast<std::size_t>(comm_.rank)], &own, sizeof own);
    const Status s = exchange(words, &merged);
    static_assert(std::is_trivially_copyable_v<T>);
    std::memcpy(static_cast<void*>(all->data()), merged.data(), merged.size() * sizeof(std::uint64_t));
    return s;
  }

  Status make_of_transport() {
    const device::Device::Visit visit(*comm_.device);
    const Status own = comm_.transport->make_device_messages(comm_.device->plugin(), comm_.device->number(), timeout_,
                                                             &link_.of_transport);
    if (own == Status::invalid_argument) return own;  // a setting; on all ranks
    return keep(own, [this] { link_.of_transport.reset(); });
  }

  template <class Drop>
  Status keep(Status own, const Drop& drop, std::string* why = nullptr) {
    const auto say_why = [this, why](std::string_view text) { why ? void(*why = text) : this->say_why(text); };
    if (own != Status::ok) say_why(message());
    const bool lacks = own != Status::ok || !link_.messages();
    std::vector<std::uint64_t> word{lacks ? std::uint64_t{failed} : 0}, merged(1);
    if (const Status s = exchange(word, &merged); s != Status::ok) return s;
    if (merged[0] == 0) return Status::ok;
    if (own == Status::ok && link_.messages()) say_why("another rank could not");
    drop();
    return Status::ok;
  }

  Status exchange(const std::vector<std::uint64_t>& own, std::vector<std::uint64_t>* merged) {
    engine::Request request;
    const Status s = exchange_words(comm_, comm_.data, own.data(), merged->data(), own.size(), {.op = payload::Op::bor},
                                    timeout_, &request);
    return s == Status::ok ? request.wait() : s;
  }

  void say_why(std::string_view why) {
    std::string& all = link_.why_no_library;
    all += (all.empty() ? "" : "; ") + std::string(why);
  }

  stretto_comm_s& comm_;
  DeviceLink& link_;
  const double timeout_;
  const backend::Module* module_ = nullptr;
  backend::DeviceCommId id_{};
};

}  // namespace

Status link_devices(stretto_comm_s& comm, double timeout) noexcept {
  if (comm.device_link.made || comm.size == 1) return Status::ok;
  return guarded("to let devices exchange messages", [&] { return LinkMaker(comm, timeout).run(); });
}

namespace {

Status force_native(const stretto_comm_s& comm, bool all_on_devices, Call* call) {
  const DeviceLink& link = comm.device_link;
  if (!all_on_devices)
    return fail(Status::unsupported,
                "schedule {} in the memory of devices needs every rank's buffers there, and options.check = 1",
                call::kNativeName);
  if (!link.library)
    return fail(Status::unsupported, "schedule {} in the memory of devices needs NCCL on 2 ranks or more: {}",
                call::kNativeName, comm.size == 1 ? "there is one" : link.why_no_library.c_str());
  if (!comm.backends.device->serves(*call))
    return fail(Status::unsupported, "{} has no {}{} of {}{}{}", link.library->name(),
                call->nonblocking ? "started " : "", name(call->collective), type_name(call->type),
                reduces(call->collective) ? " by " : "", reduces(call->collective) ? op_name(call->op) : "");
  call->settings.schedule = call::kNativeName;
  return Status::ok;
}

}  // namespace

bool must_link(const stretto_comm_s& comm, const Signature& merged) noexcept {
  return merged.devices == static_cast<std::uint32_t>(comm.size) && comm.size > 1 && !comm.device_link.made;
}

Status link(stretto_comm_s& comm, const Signature& merged, Call* call) {
  const auto all = static_cast<std::uint32_t>(comm.size);
  if (merged.captured > 0 && merged.captured < all)
    return fail(Status::unsupported,
                "the streams of {} of {} ranks are captured in a graph: all must be, and options.check be 1",
                merged.captured, all);
  const bool native = select::forces_native(*call) || merged.captured > 0;
  if (merged.devices == all) {
    if (const Status s = link_devices(comm, timeout_of(call->settings.options)); s != Status::ok) return s;
    call->messages = comm.device_link.messages();
  }
  return native && merged.devices > 0 ? force_native(comm, merged.devices == all, call) : Status::ok;
}

}  // namespace stretto::api
