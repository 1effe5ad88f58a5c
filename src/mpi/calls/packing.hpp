// A rank's buffer as bytes in the order of its type's signature. A buffer of dense elements is used in place.
// Otherwise, or if it is `shared` with the call's other side, MPI_Pack and MPI_Unpack make a copy.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/status.hpp"

namespace stretto::mpi {

// `count` elements, consecutive in `packed`.
Status pack(const void* buffer, std::int64_t count, MPI_Datatype type, MPI_Comm comm, std::byte* packed);
Status unpack(const std::byte* packed, void* buffer, std::int64_t count, MPI_Datatype type, MPI_Comm comm);

std::int64_t extent_of(MPI_Datatype type) noexcept;

// A rank's input or output of a collective.
class Buffer {
 public:
  Buffer() {}  // not zeroed
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  // `keeps`: the old contents of the buffer matter.
  Status give(const void* buffer, std::int64_t count, MPI_Datatype type, MPI_Comm comm, bool shared);
  Status take(void* buffer, std::int64_t count, MPI_Datatype type, MPI_Comm comm, bool shared, bool keeps);
  // Keeps the type until put_back(): the program may free it meanwhile.
  Status hold();
  // Call after the collective: unpacks the result.
  Status put_back();

  std::byte* data() const noexcept { return data_; }

 private:
  std::byte* room(std::size_t bytes);

  std::byte* data_ = nullptr;
  std::unique_ptr<std::byte[]> packed_;
  std::array<std::byte, 512> brief_;  // replaces packed_ for short copies
  void* place_ = nullptr;             // destination of put_back()
  std::int64_t count_ = 0;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  MPI_Comm comm_ = MPI_COMM_NULL;
  bool holds_ = false;  // type_ is a duplicate to be freed
};

}  // namespace stretto::mpi
