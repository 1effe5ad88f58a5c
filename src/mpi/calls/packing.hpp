// A rank's buffer as bytes in the order of its type's signature: where its elements lie dense that is the buffer itself, else a copy, made
// and taken apart by the MPI's own packing. A buffer that is `shared` with the call's other side is copied, too.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/status.hpp"

namespace stretto::mpi {

// `count` elements, end to end in `packed`.
Status pack(const void* buffer, std::int64_t count, MPI_Datatype type, MPI_Comm comm, std::byte* packed);
Status unpack(const std::byte* packed, void* buffer, std::int64_t count, MPI_Datatype type, MPI_Comm comm);

std::int64_t extent_of(MPI_Datatype type) noexcept;

// What a rank gives to a collective, or gets from it.
class Buffer {
 public:
  Buffer() {}  // not zeroed
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  // `keeps`: what is in the buffer already matters, besides what comes.
  Status give(const void* buffer, std::int64_t count, MPI_Datatype type, MPI_Comm comm, bool shared);
  Status take(void* buffer, std::int64_t count, MPI_Datatype type, MPI_Comm comm, bool shared, bool keeps);
  // From here on the program may free the type before put_back().
  Status hold();
  // After the collective: what came goes to its place.
  Status put_back();

  std::byte* data() const noexcept { return data_; }

 private:
  std::byte* room(std::size_t bytes);

  std::byte* data_ = nullptr;
  std::unique_ptr<std::byte[]> packed_;
  std::array<std::byte, 512> brief_;  // in its place where the copy is short
  void* place_ = nullptr;             // where put_back unpacks to
  std::int64_t count_ = 0;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  MPI_Comm comm_ = MPI_COMM_NULL;
  bool holds_ = false;  // a type of its own
};

}  // namespace stretto::mpi
