#pragma once

#include <memory>

#include "carrier/carrier.hpp"

namespace stretto::carrier {

constexpr const char* kPaceSetting = "STRETTO_LINK_GBIT";

// Each message to another rank starts once a link of `gbit` 10^9 bits a second would have passed it. Messages to
// itself, alarms and arrivals are not slowed.
std::unique_ptr<Carrier> make_paced(std::unique_ptr<Carrier> to, double gbit);

// Limits *carrier to STRETTO_LINK_GBIT, if set. invalid_argument: no positive number.
Status pace(std::unique_ptr<Carrier>* carrier) noexcept;

bool is_paced() noexcept;

}  // namespace stretto::carrier
