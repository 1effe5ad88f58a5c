// The API's enumerations as the payload's.
#pragma once

#include "payload/payload.hpp"
#include "stretto/stretto.h"

namespace stretto::api {

// Preconditions: members of their enums; payload_kind: not AUTO.
payload::Type payload_type(stretto_type t) noexcept;
payload::Op payload_op(stretto_op op) noexcept;
payload::Kind payload_kind(stretto_payload p) noexcept;

stretto_payload payload_of(payload::Kind k) noexcept;

}  // namespace stretto::api
