// The decision how a call runs: made once, before anything is said, and completed once, when the ranks agree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/status.hpp"
#include "select/choices.hpp"
#include "select/decision.hpp"
#include "select/ratios.hpp"
#include "select/segments.hpp"

namespace stretto::select {

// The decisions of one rank of a communicator. All ranks that call alike decide alike.
class Selector {
 public:
  // `messages`: as of CarrierLimits.
  Selector(std::shared_ptr<SharedChooser> chooser, int rank, int ranks, std::uint32_t messages);

  // From the arguments alone, fit or not. Changes nothing that ranks share: a rank whose arguments differ decides otherwise.
  Decision decide(const Call& call, Served served) noexcept;

  // With what all ranks agreed on: the bound becomes an eps for each contribution, what was open is chosen, and a trial takes its turn. Every rank
  // gets the same status: invalid_argument, unsupported, invalid_bound. out_of_memory may be this rank's alone.
  Status complete(const Call& call, const Agreed& agreed, Served served, Decision* decision) noexcept;

  // Keeps the ratio that a blocking call's ranks found, for later calls that ask nobody. 0: none was found.
  void remember(const Call& call, double ratio) noexcept;

  Choices& choices() noexcept { return choices_; }
  const Ratios& ratios() const noexcept { return ratios_; }

 private:
  void choose(const Call& call, std::size_t bytes, Streaming streaming, Served served, Decision* decision);
  Status settle(const Call& call, const Agreed& agreed, Served served, std::size_t bytes, Decision* decision);

  Choices choices_;
  Ratios ratios_;
  int rank_, ranks_;
  CarrierLimits limits_;
};

}  // namespace stretto::select
