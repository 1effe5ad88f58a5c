#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/status.hpp"
#include "select/choice/choices.hpp"
#include "select/choice/segments.hpp"
#include "select/choice/splits.hpp"
#include "select/decision.hpp"
#include "select/learned.hpp"

namespace stretto::select {

// Ranks with equal calls decide alike.
class Selector {
 public:
  Selector(std::shared_ptr<SharedChooser> chooser, int ranks, std::uint32_t messages);

  // Arguments may be wrong on this rank: changes no state that must be equal on all ranks.
  Decision decide(const Call& call, Support support) noexcept;

  // A call within a bound goes by lines. A message between hosts states its own, so the ranks agree on nothing, and may
  // name the type differently.
  bool bounded_by_lines(const Call& call, Support support);

  // Turns the bound into an eps per contribution, and makes an open choice. Every rank gets one status:
  // invalid_argument, unsupported or invalid_bound. Only out_of_memory may be local.
  Status complete(const Call& call, const AgreedValues& agreed, Support support, Decision* decision) noexcept;

  // Agreed in a blocking call. 0: it took no sample.
  void remember(const Call& call, const call::Shrinks& ratios, const Decision& decision) noexcept;

  // CodingTrials
  std::uint64_t took(const Call& call) const noexcept;
  void ran(const Call& call, double seconds) noexcept;
  void learn(const Call& call, std::uint64_t nanoseconds) noexcept;

  int split(const Call& call, const Choice& choice, int comm_cores) noexcept;
  // How streams meet local values in device memory.
  void force_codes(payload::Codes codes) noexcept { codes_ = codes; }
  void force_split(std::optional<int> levels) noexcept { splits_.force(levels); }

  Choices& choices() noexcept { return choices_; }
  const Ratios& ratios() const noexcept { return ratios_; }

 private:
  bool samples_again(const Call& call, std::size_t bytes, Support support, const call::Shrinks& known);
  void choose(const Call& call, std::size_t bytes, Streaming streaming, Support support, Decision* decision);
  Status settle(const Call& call, const AgreedValues& agreed, Support support, std::size_t bytes, Decision* decision);

  Choices choices_;
  Splits splits_;
  Ratios ratios_;
  CodingTrials trials_;
  payload::Codes codes_ = payload::Codes::in_passing;
  int ranks_;
  CarrierLimits limits_;
};

}  // namespace stretto::select
