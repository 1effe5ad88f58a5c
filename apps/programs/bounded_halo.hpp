// A halo exchange within a bound: each face is packed, compressed once by stretto, and sent as a stream.
#pragma once

#include <cstddef>
#include <vector>

#include "halo.hpp"
#include "stretto/stretto_stream.h"

namespace stretto::programs {

class BoundedHalo {
 public:
  // Collective. Each received value is within `bound` of the sent value. Throws Refused if a face exceeds a message.
  BoundedHalo(const Grid& grid, const Halo& halo, stretto_type type, double bound);

  // As in Halo. Both throw std::runtime_error if a stream cannot be made or read.
  void start(const void* field);
  void finish(void* field);

  double bytes() const;  // sent per exchange by this rank, on average

 private:
  MPI_Comm comm_;
  const std::vector<Face>& faces_;
  stretto_type type_;
  std::size_t width_;
  double bound_;
  std::vector<std::byte> packed_;                 // of one face
  std::vector<std::vector<std::byte>> out_, in_;  // streams, by face
  std::vector<MPI_Request> requests_;             // receives, then sends
  std::size_t sent_ = 0, exchanges_ = 0;
};

}  // namespace stretto::programs
