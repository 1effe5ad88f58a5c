#include "payload/element.hpp"

namespace stretto::payload {

std::size_t size_of(Type t) noexcept {
  switch (t) {
    case Type::i8:
    case Type::u8: return 1;
    case Type::i16:
    case Type::u16:
    case Type::f16:
    case Type::bf16: return 2;
    case Type::i32:
    case Type::u32:
    case Type::f32: return 4;
    case Type::i64:
    case Type::u64:
    case Type::f64:
    case Type::c64:
    case Type::f32_i32:
    case Type::i32_i32: return 8;
    case Type::c128:
    case Type::f64_i32:
    case Type::i64_i32: return 16;
  }
  return 0;
}

const char* name(Type t) noexcept {
  switch (t) {
    case Type::i8: return "i8";
    case Type::i16: return "i16";
    case Type::i32: return "i32";
    case Type::i64: return "i64";
    case Type::u8: return "u8";
    case Type::u16: return "u16";
    case Type::u32: return "u32";
    case Type::u64: return "u64";
    case Type::f16: return "f16";
    case Type::bf16: return "bf16";
    case Type::f32: return "f32";
    case Type::f64: return "f64";
    case Type::c64: return "c64";
    case Type::c128: return "c128";
    case Type::f32_i32: return "f32_i32";
    case Type::f64_i32: return "f64_i32";
    case Type::i32_i32: return "i32_i32";
    case Type::i64_i32: return "i64_i32";
  }
  return "unknown";
}

const char* name(Op op) noexcept {
  switch (op) {
    case Op::sum: return "sum";
    case Op::prod: return "prod";
    case Op::min: return "min";
    case Op::max: return "max";
    case Op::land: return "land";
    case Op::lor: return "lor";
    case Op::lxor: return "lxor";
    case Op::band: return "band";
    case Op::bor: return "bor";
    case Op::bxor: return "bxor";
    case Op::minloc: return "minloc";
    case Op::maxloc: return "maxloc";
    case Op::difference: return "difference";
    case Op::mean: return "mean";
    case Op::user: return "user";
  }
  return "unknown";
}

bool compressible(Op op) noexcept {
  switch (op) {
    case Op::sum:
    case Op::difference:
    case Op::min:
    case Op::max:
    case Op::mean: return true;
    case Op::prod:
    case Op::land:
    case Op::lor:
    case Op::lxor:
    case Op::band:
    case Op::bor:
    case Op::bxor:
    case Op::minloc:
    case Op::maxloc:
    case Op::user: return false;
  }
  return false;
}

std::optional<codec::Type> codec_type(Type t) noexcept {
  switch (t) {
    case Type::f32: return codec::Type::f32;
    case Type::f64: return codec::Type::f64;
    case Type::i32: return codec::Type::i32;
    case Type::i64: return codec::Type::i64;
    case Type::f16: return codec::Type::f16;
    case Type::bf16: return codec::Type::bf16;
    case Type::i8:
    case Type::i16:
    case Type::u8:
    case Type::u16:
    case Type::u32:
    case Type::u64:
    case Type::c64:
    case Type::c128:
    case Type::f32_i32:
    case Type::f64_i32:
    case Type::i32_i32:
    case Type::i64_i32: return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace stretto::payload
