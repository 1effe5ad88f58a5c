// A buffer as bytes in the order of its type's signature. Elements that are not dense are packed, as are buffers
// `shared` with the call's other side.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/status.hpp"

namespace stretto::mpi {

Status pack(const void* buffer, std::int64_t count, MPI_Datatype type, MPI_Comm comm, std::byte* packed);
Status unpack(const std::byte* packed, void* buffer, std::int64_t count, MPI_Datatype type, MPI_Comm comm);

std::int64_t extent_of(MPI_Datatype type) noexcept;

class Buffer {
 public:
  Buffer() {}
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  // `keeps`: the buffer's old contents matter.
  Status give(const void* buffer, std::int64_t count, MPI_Datatype type, MPI_Comm comm, bool shared);
  Status take(void* buffer, std::int64_t count, MPI_Datatype type, MPI_Comm comm, bool shared, bool keeps);
  // Keeps the type, which the program may free, until put_back().
  Status hold();
  Status put_back();

  std::byte* data() const noexcept { return data_; }

 private:
  std::byte* room(std::size_t bytes);

  std::byte* data_ = nullptr;
  std::unique_ptr<std::byte[]> packed_;
  std::array<std::byte, 512> brief_;
  void* place_ = nullptr;
  std::int64_t count_ = 0;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  MPI_Comm comm_ = MPI_COMM_NULL;
  bool holds_ = false;
};

}  // namespace stretto::mpi
