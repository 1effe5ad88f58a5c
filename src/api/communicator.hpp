// Agreement exchanges run on an engine of their own, in the order of the calls. A collective's data start once its
// ranks agree and every earlier collective has started its data. So each engine sees one order of runs on every rank.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
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
  bool drive(bool spare) noexcept;

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

// `devices`: for messages between devices; over a transport it is made when they take it.
struct Carriers {
  std::unique_ptr<carrier::Carrier> agreement, data, devices{};
};

}  // namespace stretto::api

struct stretto_comm_s {
  // On failure leaves `c` to the caller. `no_node`: why ranks of a host share no memory.
  stretto_comm_s(stretto::api::Carriers&& c, std::shared_ptr<stretto::select::SharedChooser> chooser,
                 std::string no_node);

  ~stretto_comm_s();

  // Advances every operation in flight; of split schedules, these lanes. `may_block`: only for the caller's own thread.
  // `own`: a blocking call's operation, which blocks in its own thread alone.
  void progress(stretto::engine::Lanes lanes = {}, bool may_block = true,
                const stretto::api::Operation* own = nullptr) noexcept;

  std::uint64_t moves() const noexcept { return data.moves() + agreement.moves(); }

  // By one thread at a time: any thread, or callers of the MPI alone.
  void let_others_drive(bool any_thread = true);

  // Held in all calls but those that run at once, which happen only while nothing is in flight.
  stretto::api::Guard guard() noexcept { return stretto::api::Guard(driving); }

  void count_live() noexcept { in_flight.store(!live.empty(), std::memory_order_release); }

  // Further collectives give Status::timeout: messages of an abandoned one may still be under way. Other ranks end
  // their waits with `status`, from these runs of `data` and `agreement` on at the latest. Leaves `why` as this
  // thread's message.
  void give_up(stretto::Status status, const char* why, std::uint64_t number = stretto::engine::Engine::next,
               std::uint64_t agreement_number = stretto::engine::Engine::next) noexcept;

  bool is_free() const noexcept {
    return idle() && stretto::is_of_generation(serves_in.load(std::memory_order_relaxed));
  }
  bool idle() const noexcept { return !in_flight.load(std::memory_order_acquire); }

  bool inherited() const noexcept { return !stretto::is_of_generation(born); }

  std::unique_ptr<stretto::backend::Transport> transport;  // null: of threads; freed last
  stretto::api::Carriers carriers;
  std::unique_ptr<stretto::device::Device> device;  // null: no call had one yet
  stretto::api::DeviceLink device_link;
  stretto::backend::Backends backends;
  std::shared_ptr<stretto::codec::ThreadPool> codec_threads;  // null: the codec has the caller's thread alone
  stretto::engine::Engine agreement, data;
  stretto::backend::ScheduleCache exchanges;
  stretto::select::Selector selector;
  // One cache line: the data that a prepared call reads.
  alignas(64) stretto::api::PreparedCalls prepared;
  std::vector<stretto::api::Operation*> live;  // not complete, in the order of their calls
  std::atomic<bool> in_flight{false};
  std::atomic<unsigned> serves_in{stretto::fork_generation()};  // `born` until it is broken, then none
  std::uint64_t unchecked = 0;
  int rank = 0;

  const unsigned born = serves_in.load(std::memory_order_relaxed);
  int size = 1;
  bool broken = false;
  std::atomic<int> requests{0};
  std::array<char, 512> broken_by{};  // reason, in memory of its own: memory may be missing
  bool is_driven = false;
  stretto::engine::Lanes lanes;  // of the thread in progress()
  bool caller_leads = false;     // a call that starts a collective does its lead steps (Operation::lead)
  // Started calls whose bound, schedule or payload is refused, or differs between ranks, run exactly. Equal on every
  // rank.
  bool starts_or_exact = false;
  stretto::Exclusive driving;
  stretto::api::Drive drive{*this};
  stretto::api::OtherCommunicators others{*this};
};

namespace stretto::api {

Status usable(const stretto_comm_s* comm) noexcept;

inline Status PreparedCalls::Line::run(stretto_comm_s& comm, const void* send, void* recv,
                                       double timeout) const noexcept {
  ++comm.unchecked;
  const Status s = call->run(send, recv, timeout);
  if (s != Status::ok) comm.give_up(s, message());
  return s;
}

}  // namespace stretto::api
