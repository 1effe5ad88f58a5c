#include "bounded_halo.hpp"

#include <algorithm>
#include <climits>
#include <stdexcept>

#include <fmt/core.h>

#include "program.hpp"

namespace stretto::programs {
namespace {

void require_stream(stretto_status status) {
  if (status != STRETTO_OK) throw std::runtime_error(stretto_message());
}

}  // namespace

BoundedHalo::BoundedHalo(const Grid& grid, const Halo& halo, stretto_type type, double bound)
    : comm_(grid.comm()), faces_(halo.faces()), type_(type), width_(type == STRETTO_F32 ? 4 : 8), bound_(bound) {
  std::size_t largest = 0;
  for (const Face& face : faces_) {
    largest = std::max(largest, face.points);
    out_.emplace_back(stretto_compress_bound(type, face.points));
    in_.emplace_back(out_.back().size());
  }
  int too_long = 0;
  for (const auto& stream : out_) too_long |= stream.size() > INT_MAX ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &too_long, 1, MPI_INT, MPI_MAX, comm_);
  if (too_long != 0)
    throw Refused(fmt::format("a face of a box of {} points, cut {}, is longer than a message may be",
                              words(grid.points()), words(grid.dims())));
  packed_.resize(largest * width_);
  requests_.resize(2 * faces_.size());
}

void BoundedHalo::start(const void* field) {
  const std::size_t count = faces_.size();
  for (std::size_t i = 0; i < count; ++i) {
    MPI_Irecv(in_[i].data(), static_cast<int>(in_[i].size()), MPI_BYTE, faces_[i].neighbour, faces_[i].received_tag,
              comm_, &requests_[i]);
  }
  for (std::size_t i = 0; i < count; ++i) {
    int end = 0;
    MPI_Pack(field, 1, faces_[i].sent, packed_.data(), static_cast<int>(packed_.size()), &end, comm_);
    std::size_t bytes = 0;
    require_stream(
        stretto_compress(type_, packed_.data(), faces_[i].points, bound_, out_[i].data(), out_[i].size(), &bytes, 0));
    MPI_Isend(out_[i].data(), static_cast<int>(bytes), MPI_BYTE, faces_[i].neighbour, faces_[i].sent_tag, comm_,
              &requests_[count + i]);
    sent_ += bytes;
  }
  ++exchanges_;
}

void BoundedHalo::finish(void* field) {
  std::vector<MPI_Status> statuses(requests_.size());
  MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), statuses.data());
  for (std::size_t i = 0; i < faces_.size(); ++i) {
    int bytes = 0, end = 0;
    MPI_Get_count(&statuses[i], MPI_BYTE, &bytes);
    require_stream(
        stretto_decompress(in_[i].data(), static_cast<std::size_t>(bytes), packed_.data(), faces_[i].points, 1));
    MPI_Unpack(packed_.data(), static_cast<int>(packed_.size()), &end, field, 1, faces_[i].received, comm_);
  }
}

double BoundedHalo::bytes() const {
  return exchanges_ == 0 ? 0 : static_cast<double>(sent_) / static_cast<double>(exchanges_);
}

}  // namespace stretto::programs
