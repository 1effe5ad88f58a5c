#include "elements.hpp"

#include <bit>

namespace stretto::hdf5 {
namespace {

std::optional<stretto_type> number_of(const Library& hdf5, Id type, const char** why) noexcept {
  const auto class_of = hdf5.symbol<int (*)(Id)>("H5Tget_class"), order = hdf5.symbol<int (*)(Id)>("H5Tget_order"),
             sign = hdf5.symbol<int (*)(Id)>("H5Tget_sign");
  const auto size = hdf5.symbol<std::size_t (*)(Id)>("H5Tget_size");
  const auto fields =
      hdf5.symbol<int (*)(Id, std::size_t*, std::size_t*, std::size_t*, std::size_t*, std::size_t*)>("H5Tget_fields");
  if (!class_of || !order || !sign || !size || !fields) {
    *why = kNoFunctions;
    return {};
  }
  const std::size_t bytes = size(type);
  const auto kind = static_cast<Class>(class_of(type));
  *why =
      "stretto's filter takes integers of 8 to 64 bits, float16, bfloat16, float32, float64 and complex numbers of "
      "them";
  if (kind != Class::Integer && kind != Class::Float) return {};
  if (bytes > 1 && order(type) != 0) {
    *why = "stretto's filter takes little-endian numbers";
    return {};
  }
  if (kind == Class::Integer) {
    const bool is_signed = sign(type) != 0;
    switch (bytes) {
      case 1: return is_signed ? STRETTO_I8 : STRETTO_U8;
      case 2: return is_signed ? STRETTO_I16 : STRETTO_U16;
      case 4: return STRETTO_I32;  // of unsigned ones the bits
      case 8: return STRETTO_I64;
      default: return {};
    }
  }
  std::size_t sign_at, exponent_at, exponent, mantissa_at, mantissa;
  if (fields(type, &sign_at, &exponent_at, &exponent, &mantissa_at, &mantissa) < 0) return {};
  if (bytes == 4 && exponent == 8 && mantissa == 23) return STRETTO_F32;
  if (bytes == 8 && exponent == 11 && mantissa == 52) return STRETTO_F64;
  if (bytes == 2 && exponent == 5 && mantissa == 10) return STRETTO_F16;
  if (bytes == 2 && exponent == 8 && mantissa == 7) return STRETTO_BF16;
  return {};
}

}  // namespace

std::optional<Elements> elements_of(const Library& hdf5, Id type, const char** why) noexcept {
  const auto class_of = hdf5.symbol<int (*)(Id)>("H5Tget_class");
  const auto size = hdf5.symbol<std::size_t (*)(Id)>("H5Tget_size");
  const auto close = hdf5.symbol<int (*)(Id)>("H5Tclose");
  const auto kind = class_of ? static_cast<Class>(class_of(type)) : Class::Integer;
  if (kind != Class::Compound && kind != Class::Complex) {
    const auto number = number_of(hdf5, type, why);
    return number ? std::optional(Elements{*number, 1}) : std::nullopt;
  }
  // A complex number: HDF5's own, or a compound of two floats without gaps, as h5py and others write them.
  Id parts[2] = {-1, -1};
  int count = 1;
  if (kind == Class::Complex) {
    const auto super = hdf5.symbol<Id (*)(Id)>("H5Tget_super");
    parts[0] = super ? super(type) : -1;
  } else {
    const auto members = hdf5.symbol<int (*)(Id)>("H5Tget_nmembers");
    const auto member = hdf5.symbol<Id (*)(Id, unsigned)>("H5Tget_member_type");
    count = members && member ? members(type) : 0;
    for (int i = 0; count == 2 && i < 2; ++i) parts[i] = member(type, static_cast<unsigned>(i));
  }
  const auto number = parts[0] >= 0 ? number_of(hdf5, parts[0], why) : std::nullopt;
  bool complex =
      number && (*number == STRETTO_F32 || *number == STRETTO_F64) && size(type) == 2 * stretto_type_size(*number);
  if (complex && count == 2) complex = parts[1] >= 0 && number_of(hdf5, parts[1], why) == number;
  for (const Id part : parts) {
    if (part >= 0 && close) close(part);
  }
  if (complex) return Elements{*number, 2};
  *why = "stretto's filter takes no compound types but complex numbers of float32 and float64";
  return {};
}

}  // namespace stretto::hdf5
