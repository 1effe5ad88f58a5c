// Agreement exchanges run on an engine of their own, in the order of the calls. A collective's data start once its
// ranks agree and every earlier collective has started its data. So each engine sees one order of runs on every rank.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/device/link.hpp"
#include "api/operation/prepared.hpp"
#include "backend/backend.hpp"
#include "backend/schedule_cache.hpp"
#include "backend/transport.hpp"
#include "base/exclusive.hpp"
#include "base/forks.hpp"
#include "base/progress/driven.hpp"
#include "base/status.hpp"
#include "carrier/carrier.hpp"
#include "codec/thread_pool.hpp"
#include "device/device.hpp"
#include "engine/engine.hpp"
#include "select/decide.hpp"
#include "stretto/stretto.h"

namespace stretto::api {

using backend::Provider;
using namespace call;

class Operation;

// For a communicator that other threads may drive (CommunicationCores).
using Guard = std::unique_lock<Exclusive>;

class Drive final : public Driven {
 public:
  explicit Drive(stretto_comm_s& comm) noexcept : comm_(comm) {}
  bool drive() noexcept override;
  bool drive_spare() noexcept override;
  bool idle() const noexcept override;

 private:
  stretto_comm_s& comm_;
};

class OtherCommunicators final : public Driven {
 public:
  explicit OtherCommunicators(const stretto_comm_s& comm) noexcept : comm_(comm) {}
  bool drive() noexcept override;
  bool idle() const noexcept override { return false; }

 private:
  const stretto_comm_s& comm_;
};

// True: either buffer is in a device's memory. Fast: before all checks.
bool on_device(const void* send, const void* recv) noexcept;

// `devices` is for messages between devices; link_devices() makes it over a transport.
struct Carriers {
  std::unique_ptr<carrier::Carrier> agreement, data, devices{};
};

}  // namespace stretto::api

struct stretto_comm_s {
  // On failure leaves `c` to the caller. `no_node`: why ranks of a host share no memory.
  stretto_comm_s(stretto::api::Carriers&& c, std::shared_ptr<stretto::select::SharedChooser> chooser,
                 std::string no_node);
  ~stretto_comm_s();

  // Operations that are not complete, in the order of their calls. The guard is held, also to change them.
  const std::vector<stretto::api::Operation*>& live() const noexcept { return live_; }
  void enlist(stretto::api::Operation* o);
  void retire(stretto::api::Operation* o) noexcept;

  // Advances every operation in flight; of split schedules, these lanes. `may_block`: only for the caller's own thread.
  // `own`: a blocking call's operation, which blocks in its own thread alone.
  void progress(stretto::engine::Lanes lanes = {}, bool may_block = true,
                const stretto::api::Operation* own = nullptr) noexcept;
  stretto::engine::Lanes lanes() const noexcept { return lanes_; }  // of the thread in progress()
  std::uint64_t moves() const noexcept { return data.moves() + agreement.moves(); }

  // Held in all calls but those that run at once, which happen only while nothing is in flight.
  stretto::api::Guard guard() noexcept { return stretto::api::Guard(driving_); }
  stretto::api::Guard try_guard() noexcept { return stretto::api::Guard(driving_, std::try_to_lock); }

  // By one thread at a time: any thread, or callers of the MPI alone.
  void let_others_drive(bool any_thread = true);
  bool is_driven() const noexcept { return is_driven_; }
  // True if something moved. `spare`: for an idle core.
  bool drive(bool spare) noexcept;
  void drive_others() noexcept { others_.drive(); }
  // A starting call does the steps of Operation::lead().
  void set_caller_leads(bool leads) noexcept { caller_leads_ = leads; }

  // Further collectives give Status::timeout: messages of an abandoned one may still be under way. Other ranks end
  // their waits with `status`, from these runs of `data` and `agreement` on at the latest. Leaves `why` as this
  // thread's message.
  void give_up(stretto::Status status, const char* why, std::uint64_t number = stretto::engine::Engine::kNext,
               std::uint64_t agreement_number = stretto::engine::Engine::kNext) noexcept;
  bool is_broken() const noexcept { return broken_; }
  // Once it is broken: timeout, with `before` and the reason as the message.
  stretto::Status refusal(const char* before = "") const noexcept;

  bool is_free() const noexcept { return idle() && is_usable(); }
  bool idle() const noexcept { return !in_flight_.load(std::memory_order_acquire); }
  bool inherited() const noexcept { return !stretto::is_of_generation(born_); }

  // Calls without an agreement. Returns the number before this one.
  std::uint64_t unchecked() const noexcept { return unchecked_; }
  std::uint64_t count_unchecked() noexcept { return unchecked_++; }

  int requests() const noexcept { return requests_; }
  void add_request() noexcept { ++requests_; }
  void drop_request() noexcept { --requests_; }  // from here on another thread may free the communicator

  // Started calls whose bound, schedule or payload is refused, or differs between ranks, run exactly. Equal on every
  // rank.
  void let_starts_run_exactly() noexcept { starts_or_exact_ = true; }
  bool starts_or_exact() const noexcept { return starts_or_exact_; }

  int hosts() noexcept { return selector.choices().hosts(); }
  bool bounded_by_lines(const stretto::call::Call& call) noexcept;
  std::size_t longest_brief() noexcept { return selector.choices().longest_brief(); }
  // True if the call moves raw values in a host's memory; also if the communicator is broken, of which other ranks may
  // not know yet.
  bool moves_in_memory(const stretto::call::Call& call) const noexcept;
  // Names ranks whose processes have ended. Empty: unknown.
  std::function<std::string()> ended() const;
  // After a change of settings that decide a program's calls.
  void forget_prepared() noexcept;
  bool on_device(const void* send, const void* recv) const noexcept {
    return prepared.asks_for_devices() && stretto::api::on_device(send, recv);
  }

  std::unique_ptr<stretto::backend::Transport> transport;  // null: of threads; freed last
  stretto::api::Carriers carriers;
  std::unique_ptr<stretto::device::Device> device;  // null: no call had one yet
  stretto::api::DeviceLink device_link;
  stretto::backend::Backends backends;
  std::shared_ptr<stretto::codec::ThreadPool> codec_threads;  // null: the codec has the caller's thread alone
  stretto::engine::Engine agreement, data;
  stretto::backend::ScheduleCache exchanges;
  stretto::select::Selector selector;
  // A prepared call reads one cache line, up to `unchecked_`.
  alignas(64) stretto::api::PreparedCalls prepared;
  const int rank, size;

 private:
  bool is_usable() const noexcept { return stretto::is_of_generation(serves_in_.load(std::memory_order_relaxed)); }

  std::vector<stretto::api::Operation*> live_;
  std::atomic<bool> in_flight_{false};
  std::atomic<unsigned> serves_in_{stretto::fork_generation()};  // `born_` until it is broken, then none
  std::uint64_t unchecked_ = 0;

  const unsigned born_ = serves_in_.load(std::memory_order_relaxed);
  std::atomic<int> requests_{0};
  bool broken_ = false;
  bool is_driven_ = false;
  bool caller_leads_ = false;
  stretto::engine::Lanes lanes_;
  bool starts_or_exact_ = false;
  std::array<char, 512> broken_by_{};  // the reason, stored without allocation
  stretto::Exclusive driving_;
  stretto::api::Drive drive_{*this};
  stretto::api::OtherCommunicators others_{*this};
};

namespace stretto::api {

Status usable(const stretto_comm_s* comm) noexcept;

inline Status PreparedCalls::Line::run(stretto_comm_s& comm, const void* send, void* recv,
                                       double timeout) const noexcept {
  comm.count_unchecked();
  const Status s = call->run(send, recv, timeout);
  if (s != Status::ok) comm.give_up(s, message());
  return s;
}

}  // namespace stretto::api
