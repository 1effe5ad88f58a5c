// A carrier around another one, slowed to the rate of a link: for benchmarks, which show on one machine what slower networks would.
#pragma once

#include <memory>

#include "carrier/carrier.hpp"

namespace stretto::carrier {

constexpr const char* pace_setting = "STRETTO_LINK_GBIT";

// Messages to other ranks are handed on to `to` one after another, each once the link has had the time for its bytes: the rank's
// outgoing link, of `gbit` (positive) 10^9 bits a second. Those to the rank itself, alarms, and what comes in are not slowed. Throws
// std::bad_alloc.
std::unique_ptr<Carrier> make_paced(std::unique_ptr<Carrier> to, double gbit);

// Limits *carrier to the rate of STRETTO_LINK_GBIT, in Gb/s, where that is set. invalid_argument: the variable is no positive number.
Status pace(std::unique_ptr<Carrier>* carrier) noexcept;

// True if STRETTO_LINK_GBIT is set.
bool is_paced() noexcept;

}  // namespace stretto::carrier
