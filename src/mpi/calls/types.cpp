#include "mpi/calls/types.hpp"

#include <array>
#include <cstddef>
#include <functional>
#include <vector>

namespace stretto::mpi {
namespace {

struct KnownType {
  MPI_Datatype type;
  Element element;
};

// Finds types by size. Skips sizes without a counterpart, and types that the MPI lacks (null, or of size 0).
void add(std::vector<KnownType>& all, Nature nature, bool is_signed, std::initializer_list<MPI_Datatype> types) {
  constexpr std::array<stretto_type, 4> of_signed = {STRETTO_I8, STRETTO_I16, STRETTO_I32, STRETTO_I64};
  constexpr std::array<stretto_type, 4> of_unsigned = {STRETTO_U8, STRETTO_U16, STRETTO_U32, STRETTO_U64};
  for (MPI_Datatype t : types) {
    int size = 0;
    if (t == MPI_DATATYPE_NULL || PMPI_Type_size(t, &size) != MPI_SUCCESS) continue;
    const bool complex = nature == Nature::complex;
    if (nature == Nature::floating || complex) {
      const int part = complex ? size / 2 : size;
      if (part != 4 && part != 8) continue;
      all.push_back({t, {nature, part == 4 ? STRETTO_F32 : STRETTO_F64, complex ? 2 : 1}});
      continue;
    }
    std::size_t order = 0;
    while (order < 4 && (1 << order) != size) ++order;
    if (order < 4) all.push_back({t, {nature, (is_signed ? of_signed : of_unsigned)[order], 1}});
  }
}

std::vector<KnownType> find_known() {
  std::vector<KnownType> all;
  add(all, Nature::floating, true, {MPI_DOUBLE, MPI_FLOAT});
  add(all, Nature::integer, true, {MPI_INT, MPI_LONG, MPI_LONG_LONG});
  add(all, Nature::bytes, false, {MPI_BYTE});
  add(all, Nature::fortran_integer, true, {MPI_INTEGER});
  add(all, Nature::floating, true, {MPI_DOUBLE_PRECISION, MPI_REAL});
  add(all, Nature::integer, false, {MPI_UNSIGNED, MPI_UNSIGNED_LONG, MPI_UNSIGNED_LONG_LONG});
  add(all, Nature::integer, true, {MPI_INT64_T, MPI_INT32_T, MPI_INT16_T, MPI_INT8_T, MPI_SHORT, MPI_SIGNED_CHAR});
  add(all, Nature::integer, false,
      {MPI_UINT64_T, MPI_UINT32_T, MPI_UINT16_T, MPI_UINT8_T, MPI_UNSIGNED_SHORT, MPI_UNSIGNED_CHAR});
  add(all, Nature::address, true, {MPI_AINT, MPI_OFFSET, MPI_COUNT});
  add(all, Nature::complex, true, {MPI_C_DOUBLE_COMPLEX, MPI_C_FLOAT_COMPLEX, MPI_DOUBLE_COMPLEX, MPI_COMPLEX});
  add(all, Nature::fortran_integer, true, {MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8});
  add(all, Nature::floating, true, {MPI_REAL4, MPI_REAL8});
  add(all, Nature::complex, true, {MPI_COMPLEX8, MPI_COMPLEX16});
  return all;
}

class Table {
 public:
  explicit Table(const std::vector<KnownType>& all) {
    slots_.fill({MPI_DATATYPE_NULL, {}});
    for (const KnownType& k : all)
      if (KnownType& slot = slots_[place_of(k.type)]; slot.type == MPI_DATATYPE_NULL) slot = k;
  }
  const Element* find(MPI_Datatype type) const noexcept {
    const KnownType& slot = slots_[place_of(type)];
    return type != MPI_DATATYPE_NULL && slot.type == type ? &slot.element : nullptr;
  }

 private:
  std::size_t place_of(MPI_Datatype type) const noexcept {
    std::size_t i = (std::hash<MPI_Datatype>()(type) * 0x9E3779B97F4A7C15u) >> (64 - kBits);
    while (slots_[i].type != type && slots_[i].type != MPI_DATATYPE_NULL) i = (i + 1) % slots_.size();
    return i;
  }
  static constexpr int kBits = 8;  // six times the number of types
  std::array<KnownType, std::size_t{1} << kBits> slots_;
};

struct KnownOperation {
  MPI_Op op;
  stretto_op operation;
};

stretto_op operation_of(MPI_Op op) noexcept {
  static const std::array<KnownOperation, 10> kOperations = {{{MPI_SUM, STRETTO_SUM},
                                                              {MPI_MAX, STRETTO_MAX},
                                                              {MPI_MIN, STRETTO_MIN},
                                                              {MPI_PROD, STRETTO_PROD},
                                                              {MPI_LAND, STRETTO_LAND},
                                                              {MPI_LOR, STRETTO_LOR},
                                                              {MPI_LXOR, STRETTO_LXOR},
                                                              {MPI_BAND, STRETTO_BAND},
                                                              {MPI_BOR, STRETTO_BOR},
                                                              {MPI_BXOR, STRETTO_BXOR}}};
  for (const KnownOperation& n : kOperations)
    if (n.op == op) return n.operation;
  return STRETTO_USER;
}

// MPI allows these; a product of complex numbers is not a product of parts.
bool allowed(stretto_op op, Nature nature) noexcept {
  const bool integer = nature == Nature::integer || nature == Nature::address || nature == Nature::fortran_integer;
  switch (op) {
    case STRETTO_SUM: return nature != Nature::bytes;
    case STRETTO_PROD:
    case STRETTO_MIN:
    case STRETTO_MAX: return integer || nature == Nature::floating;
    case STRETTO_LAND:
    case STRETTO_LOR:
    case STRETTO_LXOR: return nature == Nature::integer;
    case STRETTO_BAND:
    case STRETTO_BOR:
    case STRETTO_BXOR: return integer || nature == Nature::bytes;
    case STRETTO_MEAN:
    case STRETTO_DIFFERENCE:
    case STRETTO_USER: return false;
  }
  return false;
}

}  // namespace

const Element* element_of(MPI_Datatype type) noexcept {
  static const Table all(find_known());
  return all.find(type);
}

const char* reduction_of(MPI_Datatype type, MPI_Op op, const Element** element, stretto_op* operation) noexcept {
  *operation = operation_of(op);
  if (*operation == STRETTO_USER) return "an operation of the program's own, or with places (MINLOC)";
  *element = element_of(type);
  if (!*element) return "a type without a counterpart";
  if (!allowed(*operation, (*element)->nature)) return "an operation that is not for this type";
  // Open MPI 5 saturates these sums in vector loops and wraps remainders.
  const bool narrow = stretto_type_size((*element)->type) < 4 && (*element)->nature != Nature::floating;
  return narrow && *operation == STRETTO_SUM ? "a sum of 8- or 16-bit integers, which an MPI may saturate" : nullptr;
}

bool has_counterpart(MPI_Op op) noexcept { return operation_of(op) != STRETTO_USER; }

bool is_dense(MPI_Datatype type) noexcept {
  if (element_of(type)) return true;
  int integers = 0, addresses = 0, types = 0, combiner = 0;
  if (PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner) != MPI_SUCCESS) return false;
  if (combiner != MPI_COMBINER_NAMED) return false;
  MPI_Aint low = 0, extent = 0;
  if (PMPI_Type_get_extent(type, &low, &extent) != MPI_SUCCESS) return false;
  return low == 0 && extent == bytes_of(type);  // pairs with a short part have a gap
}

std::int64_t bytes_of(MPI_Datatype type) noexcept {
  if (const Element* e = element_of(type)) return static_cast<std::int64_t>(stretto_type_size(e->type)) * e->parts;
  MPI_Count size = 0;
  return PMPI_Type_size_x(type, &size) == MPI_SUCCESS && size > 0 ? static_cast<std::int64_t>(size) : 0;
}

}  // namespace stretto::mpi
