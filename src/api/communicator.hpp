// What is behind a stretto_comm: two engines over two carriers, and the operations in flight.
//
// Agreement exchanges run on an engine of their own. They start in the order of the calls; the data of a collective starts
// once its ranks agree and every earlier one has started its data. So each engine sees the same order of runs on every
// rank, however the ranks test and wait.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "api/choice.hpp"
#include "api/native.hpp"
#include "api/straight.hpp"
#include "base/status.hpp"
#include "carrier/carrier.hpp"
#include "engine/engine.hpp"
#include "stretto/stretto.h"

namespace stretto::api {
class Operation;

// The two carriers of one rank, and the collectives that the system below has of its own.
struct Carriers {
  std::unique_ptr<carrier::Carrier> agreement, data;
  Natives natives;
};
}  // namespace stretto::api

struct stretto_comm_s {
  stretto_comm_s(stretto::api::Carriers c, std::shared_ptr<stretto::api::SharedChooser> chooser)
      : carriers(std::move(c)),
        agreement(*carriers.agreement),
        data(*carriers.data),
        choices(std::move(chooser)),
        rank(carriers.data->rank()),
        size(carriers.data->size()) {}

  // Lets every operation in flight advance, without waiting.
  void progress() noexcept;

  // Further collectives give Status::timeout: messages of one that was given up may still be under way. All other ranks are told, and end
  // what they wait for in vain with `status`, from the run `number` of `data` on, at the latest from the next one. Leaves `why` as the
  // message of this thread.
  void give_up(stretto::Status status, const char* why, std::uint64_t number = stretto::engine::Engine::next) noexcept;

  stretto::api::Carriers carriers;
  stretto::engine::Engine agreement, data;
  stretto::api::Choices choices;
  stretto::api::Ratios ratios;
  stretto::api::Schedules schedules;
  alignas(64) stretto::api::Straight straight;  // what it looks at shares a cache line
  int rank = 0, size = 1;
  std::vector<stretto::api::Operation*> live;  // not complete, in the order of their calls
  bool broken = false;
  int requests = 0;                   // not yet freed
  std::array<char, 512> broken_by{};  // why, in memory of its own: it may be memory that is missing
};
