#include "modules/mpi/handles.hpp"

#include <cstddef>
#include <string_view>

namespace stretto::modules {

MPI_Datatype mpi_type(stretto_type t) noexcept {
  switch (t) {
    case STRETTO_F32: return MPI_FLOAT;
    case STRETTO_F64: return MPI_DOUBLE;
    case STRETTO_I32: return MPI_INT32_T;
    case STRETTO_I64: return MPI_INT64_T;
    case STRETTO_F16:
    case STRETTO_BF16:
    case STRETTO_U16: return MPI_UINT16_T;
    case STRETTO_I8: return MPI_INT8_T;
    case STRETTO_U8: return MPI_UINT8_T;
    case STRETTO_I16: return MPI_INT16_T;
    case STRETTO_U32: return MPI_UINT32_T;
    case STRETTO_U64: return MPI_UINT64_T;
  }
  return MPI_DATATYPE_NULL;
}

MPI_Op mpi_op(stretto_op op) noexcept {
  switch (op) {
    case STRETTO_SUM:
    case STRETTO_MEAN: return MPI_SUM;
    case STRETTO_PROD: return MPI_PROD;
    case STRETTO_MIN: return MPI_MIN;
    case STRETTO_MAX: return MPI_MAX;
    case STRETTO_LAND: return MPI_LAND;
    case STRETTO_LOR: return MPI_LOR;
    case STRETTO_LXOR: return MPI_LXOR;
    case STRETTO_BAND: return MPI_BAND;
    case STRETTO_BOR: return MPI_BOR;
    case STRETTO_BXOR: return MPI_BXOR;
    case STRETTO_DIFFERENCE:
    case STRETTO_USER: return MPI_OP_NULL;
  }
  return MPI_OP_NULL;
}

Status status_of(int code) noexcept {
  if (code == MPI_SUCCESS) return Status::ok;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) return fail(Status::mpi_error, "MPI error {}", code);
  return fail(Status::mpi_error, "{}", std::string_view(text, static_cast<std::size_t>(length)));
}

}  // namespace stretto::modules
