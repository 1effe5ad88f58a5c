#include "mpi/calls/packing.hpp"

#include <algorithm>

#include "mpi/calls/types.hpp"

namespace stretto::mpi {
namespace {

// MPI packs by int counts: the number of elements whose bytes fit.
std::int64_t at_once(std::int64_t bytes) noexcept {
  return std::max<std::int64_t>(1, (std::int64_t{1} << 30) / std::max<std::int64_t>(1, bytes));
}

template <class Step>
Status in_parts(std::int64_t count, MPI_Datatype type, const Step& step) {
  const std::int64_t bytes = bytes_of(type), extent = extent_of(type);
  for (std::int64_t at = 0; at < count; at += at_once(bytes)) {
    const std::int64_t n = std::min(at_once(bytes), count - at);
    int position = 0;
    const int code = step(at * extent, at * bytes, static_cast<int>(n), static_cast<int>(n * bytes), &position);
    if (code != MPI_SUCCESS || position != n * bytes)
      return fail(Status::mpi_error, "{} elements of {} bytes were packed to {} bytes (MPI error {})", n, bytes,
                  position, code);
  }
  return Status::ok;
}

}  // namespace

std::int64_t extent_of(MPI_Datatype type) noexcept {
  MPI_Aint low = 0, extent = 0;
  return PMPI_Type_get_extent(type, &low, &extent) == MPI_SUCCESS ? static_cast<std::int64_t>(extent) : 0;
}

Status pack(const void* buffer, std::int64_t count, MPI_Datatype type, MPI_Comm comm, std::byte* packed) {
  return in_parts(count, type, [&](std::int64_t from, std::int64_t to, int n, int bytes, int* position) {
    return PMPI_Pack(static_cast<const std::byte*>(buffer) + from, n, type, packed + to, bytes, position, comm);
  });
}

Status unpack(const std::byte* packed, void* buffer, std::int64_t count, MPI_Datatype type, MPI_Comm comm) {
  return in_parts(count, type, [&](std::int64_t to, std::int64_t from, int n, int bytes, int* position) {
    return PMPI_Unpack(packed + from, bytes, position, static_cast<std::byte*>(buffer) + to, n, type, comm);
  });
}

Buffer::~Buffer() {
  if (holds_) PMPI_Type_free(&type_);
}

Status Buffer::hold() {
  if (type_ == MPI_DATATYPE_NULL) return Status::ok;
  MPI_Datatype own = MPI_DATATYPE_NULL;
  if (PMPI_Type_dup(type_, &own) != MPI_SUCCESS)
    return fail(Status::mpi_error, std::string_view("the datatype cannot be kept"));
  type_ = own;
  holds_ = true;
  return Status::ok;
}

std::byte* Buffer::room(std::size_t bytes) {
  if (bytes <= brief_.size()) return brief_.data();
  packed_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
  return packed_.get();
}

Status Buffer::give(const void* buffer, std::int64_t count, MPI_Datatype type, MPI_Comm comm, bool shared) {
  if (!shared && is_dense(type)) {
    data_ = static_cast<std::byte*>(const_cast<void*>(buffer));
    return Status::ok;
  }
  data_ = room(static_cast<std::size_t>(count * bytes_of(type)));
  return pack(buffer, count, type, comm, data_);
}

Status Buffer::take(void* buffer, std::int64_t count, MPI_Datatype type, MPI_Comm comm, bool shared, bool keeps) {
  if (!shared && is_dense(type)) {
    data_ = static_cast<std::byte*>(buffer);
    return Status::ok;
  }
  data_ = room(static_cast<std::size_t>(count * bytes_of(type)));
  place_ = buffer;
  count_ = count;
  type_ = type;
  comm_ = comm;
  return keeps ? pack(buffer, count, type, comm, data_) : Status::ok;
}

Status Buffer::put_back() {
  return type_ == MPI_DATATYPE_NULL ? Status::ok : unpack(data_, place_, count_, type_, comm_);
}

}  // namespace stretto::mpi
