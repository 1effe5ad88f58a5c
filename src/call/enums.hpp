#pragma once

#include <string>
#include <string_view>

#include "base/status.hpp"
#include "codec/codec.hpp"
#include "payload/payload.hpp"
#include "stretto/stretto.h"

namespace stretto::call {

inline stretto_status to_c(Status s) noexcept { return static_cast<stretto_status>(static_cast<int>(s)); }

bool is_type(stretto_type t) noexcept;
bool is_op(stretto_op op) noexcept;
bool is_payload(stretto_payload p) noexcept;
bool is_floating(stretto_type t) noexcept;

bool has_streams(stretto_type t) noexcept;

// Precondition: has_streams(t).
inline codec::Type codec_type(stretto_type t) noexcept { return static_cast<codec::Type>(static_cast<int>(t)); }

// payload_kind: raw for AUTO; fused for MIXED, too.
payload::Type payload_type(stretto_type t) noexcept;
payload::Op payload_op(stretto_op op) noexcept;
payload::Kind payload_kind(stretto_payload p) noexcept;

inline stretto_coding to_c(codec::Coding c) noexcept { return static_cast<stretto_coding>(static_cast<int>(c)); }

stretto_payload payload_of(payload::Kind k) noexcept;

// A forced payload's values travel in another form; within a bound; and sums are of codes alone.
inline bool is_compressed(stretto_payload p) noexcept { return payload::is_compressed(payload_kind(p)); }
inline bool keeps_bound(stretto_payload p) noexcept { return payload::keeps_bound(payload_kind(p)); }
inline bool adds_codes(stretto_payload p) noexcept {
  return payload::traits(payload_kind(p)).adds_codes && p != STRETTO_PAYLOAD_MIXED;
}

// Not "auto"; "doc" is recompress. And all names, for messages.
bool find_payload(std::string_view text, stretto_payload* p) noexcept;
std::string payload_names();

const char* type_name(stretto_type t) noexcept;
const char* op_name(stretto_op op) noexcept;
const char* bound_name(stretto_bound b) noexcept;
const char* scope_name(stretto_scope s) noexcept;
const char* payload_name(stretto_payload p) noexcept;
const char* coding_name(stretto_coding c) noexcept;

}  // namespace stretto::call
