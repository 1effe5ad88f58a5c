#include "api/payloads.hpp"

namespace stretto::api {

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

payload::Kind payload_kind(stretto_payload p) noexcept {
  using K = payload::Kind;
  switch (p) {
    case STRETTO_PAYLOAD_AUTO:
    case STRETTO_PAYLOAD_RAW: return K::raw;
    case STRETTO_PAYLOAD_RECOMPRESS: return K::doc;
    case STRETTO_PAYLOAD_HOMOMORPHIC: return K::homomorphic;
    case STRETTO_PAYLOAD_MIXED:
    case STRETTO_PAYLOAD_FUSED: return K::fused;
    case STRETTO_PAYLOAD_CPRP2P: return K::cprp2p;
  }
  return K::raw;
}

stretto_payload payload_of(payload::Kind k) noexcept {
  using K = payload::Kind;
  switch (k) {
    case K::raw: return STRETTO_PAYLOAD_RAW;
    case K::cprp2p: return STRETTO_PAYLOAD_CPRP2P;
    case K::doc: return STRETTO_PAYLOAD_RECOMPRESS;
    case K::homomorphic: return STRETTO_PAYLOAD_HOMOMORPHIC;
    case K::fused: return STRETTO_PAYLOAD_FUSED;
  }
  return STRETTO_PAYLOAD_RAW;
}

}  // namespace stretto::api
