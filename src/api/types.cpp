#include "api/types.hpp"

namespace stretto::api {

static_assert(int(STRETTO_OK) == int(Status::ok) && int(STRETTO_INVALID_ARGUMENT) == int(Status::invalid_argument) &&
              int(STRETTO_INVALID_BOUND) == int(Status::invalid_bound) &&
              int(STRETTO_BUFFER_TOO_SMALL) == int(Status::buffer_too_small) &&
              int(STRETTO_CORRUPT_STREAM) == int(Status::corrupt_stream) &&
              int(STRETTO_INCOMPATIBLE) == int(Status::incompatible) &&
              int(STRETTO_OVERFLOW) == int(Status::overflow) && int(STRETTO_UNSUPPORTED) == int(Status::unsupported) &&
              int(STRETTO_OUT_OF_MEMORY) == int(Status::out_of_memory) &&
              int(STRETTO_TIMEOUT) == int(Status::timeout) && int(STRETTO_MPI_ERROR) == int(Status::mpi_error) &&
              int(STRETTO_INTERNAL) == int(Status::internal));

static_assert(int(STRETTO_F32) == int(codec::Type::f32) && int(STRETTO_F64) == int(codec::Type::f64) &&
              int(STRETTO_I32) == int(codec::Type::i32) && int(STRETTO_I64) == int(codec::Type::i64) &&
              int(STRETTO_F16) == int(codec::Type::f16) && int(STRETTO_BF16) == int(codec::Type::bf16));

namespace {
constexpr const char* type_names[] = {"f32", "f64", "i32", "i64", "f16", "bf16",
                                      "i8",  "u8",  "i16", "u16", "u32", "u64"};
constexpr std::size_t type_sizes[] = {4, 8, 4, 8, 2, 2, 1, 1, 2, 2, 4, 8};
constexpr const char* op_names[] = {"sum",  "prod", "min",  "max",  "land",       "lor", "lxor",
                                    "band", "bor",  "bxor", "mean", "difference", "user"};
}  // namespace

bool is_type(stretto_type t) noexcept { return int(t) >= STRETTO_F32 && int(t) <= STRETTO_U64; }
bool is_op(stretto_op op) noexcept { return int(op) >= STRETTO_SUM && int(op) <= STRETTO_USER; }
bool has_streams(stretto_type t) noexcept { return int(t) >= STRETTO_F32 && int(t) <= STRETTO_BF16; }

bool is_floating(stretto_type t) noexcept {
  return t == STRETTO_F32 || t == STRETTO_F64 || t == STRETTO_F16 || t == STRETTO_BF16;
}

const char* type_name(stretto_type t) noexcept { return is_type(t) ? type_names[int(t) - 1] : "?"; }
const char* op_name(stretto_op op) noexcept { return is_op(op) ? op_names[int(op) - 1] : "?"; }

const char* bound_name(stretto_bound b) noexcept {
  switch (b) {
    case STRETTO_BOUND_NONE: return "none";
    case STRETTO_BOUND_ABSOLUTE: return "absolute";
    case STRETTO_BOUND_RELATIVE: return "relative";
  }
  return "?";
}

const char* scope_name(stretto_scope s) noexcept {
  switch (s) {
    case STRETTO_SCOPE_CONTRIBUTION: return "contribution";
    case STRETTO_SCOPE_RESULT: return "result";
    case STRETTO_SCOPE_RESULT_STATISTICAL_95: return "result_statistical_95";
    case STRETTO_SCOPE_RESULT_STATISTICAL_95_UNIFORM: return "result_statistical_95_uniform";
  }
  return "?";
}

const char* payload_name(stretto_payload p) noexcept {
  switch (p) {
    case STRETTO_PAYLOAD_AUTO: return "auto";
    case STRETTO_PAYLOAD_RAW: return "raw";
    case STRETTO_PAYLOAD_RECOMPRESS: return "recompress";
    case STRETTO_PAYLOAD_HOMOMORPHIC: return "homomorphic";
    case STRETTO_PAYLOAD_FUSED: return "fused";
    case STRETTO_PAYLOAD_CPRP2P: return "cprp2p";
    case STRETTO_PAYLOAD_MIXED: return "mixed";
  }
  return "?";
}

}  // namespace stretto::api

using namespace stretto;

extern "C" {

size_t stretto_type_size(stretto_type type) { return api::is_type(type) ? api::type_sizes[int(type) - 1] : 0; }

const char* stretto_message(void) { return message(); }

const char* stretto_status_name(stretto_status status) {
  return int(status) >= STRETTO_OK && int(status) <= STRETTO_INTERNAL ? name(static_cast<Status>(int(status)))
                                                                      : "unknown";
}

const char* stretto_version(void) { return STRETTO_VERSION; }

}  // extern "C"
