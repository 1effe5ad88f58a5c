#include "call/enums.hpp"

#include <iterator>

namespace stretto::call {

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

static_assert(int(STRETTO_CODING_AUTO) == int(codec::Coding::automatic) &&
              int(STRETTO_CODING_FIXED) == int(codec::Coding::fixed) &&
              int(STRETTO_CODING_DENSE) == int(codec::Coding::dense));

namespace {
constexpr const char* kTypeNames[] = {"f32", "f64", "i32", "i64", "f16", "bf16",
                                      "i8",  "u8",  "i16", "u16", "u32", "u64"};
constexpr std::size_t kTypeSizes[] = {4, 8, 4, 8, 2, 2, 1, 1, 2, 2, 4, 8};
constexpr const char* kOpNames[] = {"sum",  "prod", "min",  "max",  "land",       "lor", "lxor",
                                    "band", "bor",  "bxor", "mean", "difference", "user"};

// Rows are by stretto_payload. The first after AUTO with a kind stands for it.
constexpr struct {
  const char* name;
  payload::Kind kind;
} payloads[] = {{"auto", payload::Kind::raw},
                {"raw", payload::Kind::raw},
                {"recompress", payload::Kind::recompress},
                {"homomorphic", payload::Kind::homomorphic},
                {"fused", payload::Kind::fused},
                {"cprp2p", payload::Kind::cprp2p},
                {"mixed", payload::Kind::fused},
                {"bfloat16", payload::Kind::bfloat16}};
static_assert(payloads[STRETTO_PAYLOAD_RECOMPRESS].kind == payload::Kind::recompress &&
              payloads[STRETTO_PAYLOAD_HOMOMORPHIC].kind == payload::Kind::homomorphic &&
              payloads[STRETTO_PAYLOAD_FUSED].kind == payload::Kind::fused &&
              payloads[STRETTO_PAYLOAD_CPRP2P].kind == payload::Kind::cprp2p &&
              payloads[STRETTO_PAYLOAD_BFLOAT16].kind == payload::Kind::bfloat16 &&
              std::size(payloads) == STRETTO_PAYLOAD_BFLOAT16 + 1);
}  // namespace

bool is_type(stretto_type t) noexcept { return int(t) >= STRETTO_F32 && int(t) <= STRETTO_U64; }
bool is_op(stretto_op op) noexcept { return int(op) >= STRETTO_SUM && int(op) <= STRETTO_USER; }
bool has_streams(stretto_type t) noexcept { return int(t) >= STRETTO_F32 && int(t) <= STRETTO_BF16; }

bool is_floating(stretto_type t) noexcept {
  return t == STRETTO_F32 || t == STRETTO_F64 || t == STRETTO_F16 || t == STRETTO_BF16;
}

const char* type_name(stretto_type t) noexcept { return is_type(t) ? kTypeNames[int(t) - 1] : "?"; }
const char* op_name(stretto_op op) noexcept { return is_op(op) ? kOpNames[int(op) - 1] : "?"; }

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

bool is_payload(stretto_payload p) noexcept {
  return int(p) >= STRETTO_PAYLOAD_AUTO && std::size_t(p) < std::size(payloads);
}

const char* payload_name(stretto_payload p) noexcept { return is_payload(p) ? payloads[p].name : "?"; }

std::string payload_names() {
  std::string all;
  for (std::size_t i = STRETTO_PAYLOAD_RAW; i < std::size(payloads); ++i)
    all += (all.empty() ? "" : i + 1 < std::size(payloads) ? ", " : " or ") + std::string(payloads[i].name);
  return all;
}

bool find_payload(std::string_view text, stretto_payload* p) noexcept {
  if (text == "doc") text = payloads[STRETTO_PAYLOAD_RECOMPRESS].name;
  for (std::size_t i = STRETTO_PAYLOAD_RAW; i < std::size(payloads); ++i) {
    if (text != payloads[i].name) continue;
    *p = static_cast<stretto_payload>(i);
    return true;
  }
  return false;
}

const char* coding_name(stretto_coding c) noexcept {
  switch (c) {
    case STRETTO_CODING_AUTO: return "auto";
    case STRETTO_CODING_FIXED: return "fixed";
    case STRETTO_CODING_DENSE: return "dense";
  }
  return "?";
}

payload::Type payload_type(stretto_type t) noexcept {
  using T = payload::Type;
  switch (t) {
    case STRETTO_F32: return T::f32;
    case STRETTO_F64: return T::f64;
    case STRETTO_I32: return T::i32;
    case STRETTO_I64: return T::i64;
    case STRETTO_F16: return T::f16;
    case STRETTO_BF16: return T::bf16;
    case STRETTO_I8: return T::i8;
    case STRETTO_U8: return T::u8;
    case STRETTO_I16: return T::i16;
    case STRETTO_U16: return T::u16;
    case STRETTO_U32: return T::u32;
    case STRETTO_U64: return T::u64;
  }
  return T::u8;
}

payload::Op payload_op(stretto_op op) noexcept {
  using O = payload::Op;
  switch (op) {
    case STRETTO_SUM: return O::sum;
    case STRETTO_PROD: return O::prod;
    case STRETTO_MIN: return O::min;
    case STRETTO_MAX: return O::max;
    case STRETTO_LAND: return O::land;
    case STRETTO_LOR: return O::lor;
    case STRETTO_LXOR: return O::lxor;
    case STRETTO_BAND: return O::band;
    case STRETTO_BOR: return O::bor;
    case STRETTO_BXOR: return O::bxor;
    case STRETTO_MEAN: return O::mean;
    case STRETTO_DIFFERENCE: return O::difference;
    case STRETTO_USER: return O::user;
  }
  return O::sum;
}

payload::Kind payload_kind(stretto_payload p) noexcept { return is_payload(p) ? payloads[p].kind : payload::Kind::raw; }

stretto_payload payload_of(payload::Kind k) noexcept {
  for (std::size_t i = STRETTO_PAYLOAD_RAW; i < std::size(payloads); ++i)
    if (payloads[i].kind == k) return static_cast<stretto_payload>(i);
  return STRETTO_PAYLOAD_RAW;
}

}  // namespace stretto::call

using namespace stretto;

extern "C" {

size_t stretto_type_size(stretto_type type) { return call::is_type(type) ? call::kTypeSizes[int(type) - 1] : 0; }
}
