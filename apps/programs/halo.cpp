#include "halo.hpp"

namespace stretto::programs {
namespace {

// One layer of a block, `plane` in `direction`; in the other directions without the surrounding layer.
MPI_Datatype layer(const Block& block, int direction, int plane, MPI_Datatype element) {
  Three sizes{}, counts{}, starts{};
  for (std::size_t d = 0; d < 3; ++d) {
    const bool across = d == static_cast<std::size_t>(direction);
    sizes[d] = block.count[d] + 2;
    counts[d] = across ? 1 : block.count[d];
    starts[d] = across ? plane + 1 : 1;
  }
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_subarray(3, sizes.data(), counts.data(), starts.data(), MPI_ORDER_C, element, &type);
  MPI_Type_commit(&type);
  return type;
}

}  // namespace

Halo::Halo(const Grid& grid, MPI_Datatype element) : comm_(grid.comm()) {
  const Block block = grid.block();
  for (int d = 0; d < 3; ++d) {
    const int count = block.count[static_cast<std::size_t>(d)];
    for (int side = 0; side < 2; ++side) {
      Face& face = all_[static_cast<std::size_t>(2 * d + side)];
      face.neighbour = grid.neighbour(d, side);
      face.sent_tag = 2 * d + side;
      face.received_tag = 2 * d + 1 - side;
      face.points = block.points() / static_cast<std::size_t>(count);
      face.sent = layer(block, d, side == 0 ? 0 : count - 1, element);
      face.received = layer(block, d, side == 0 ? -1 : count, element);
      if (face.neighbour != MPI_PROC_NULL) faces_.push_back(face);
    }
  }
  requests_.resize(2 * faces_.size());
}

Halo::~Halo() {
  for (Face& face : all_) {
    MPI_Type_free(&face.sent);
    MPI_Type_free(&face.received);
  }
}

void Halo::exchange(void* field) const {
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const Face &out = all_[i],
               &in = all_[i ^ 1];  // data sent through a face arrive through the opposite face
    MPI_Sendrecv(field, 1, out.sent, out.neighbour, out.sent_tag, field, 1, in.received, in.neighbour, in.received_tag,
                 comm_, MPI_STATUS_IGNORE);
  }
}

void Halo::start(void* field) {
  MPI_Request* next = requests_.data();
  for (const Face& face : faces_) MPI_Irecv(field, 1, face.received, face.neighbour, face.received_tag, comm_, next++);
  for (const Face& face : faces_) MPI_Isend(field, 1, face.sent, face.neighbour, face.sent_tag, comm_, next++);
}

void Halo::finish() { MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE); }

std::size_t Halo::points() const {
  std::size_t sum = 0;
  for (const Face& face : faces_) sum += face.points;
  return sum;
}

}  // namespace stretto::programs
