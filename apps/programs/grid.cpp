#include "grid.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

#include <fmt/core.h>

#include "program.hpp"

namespace stretto::programs {

std::string words(const Three& numbers) { return fmt::format("{} x {} x {}", numbers[0], numbers[1], numbers[2]); }

Part part_of(int points, int parts, int index) {
  const int each = points / parts, rest = points % parts;
  return {index * each + std::min(index, rest), each + (index < rest ? 1 : 0)};
}

Three process_grid(int processes, int dimensions) {
  Three dims{1, 1, 1};
  std::fill_n(dims.begin(), dimensions, 0);  // chosen by MPI
  MPI_Dims_create(processes, dimensions, dims.data());
  return dims;
}

Three given_grid(const std::string& text, int processes) {
  Three dims{1, 1, 1};
  const char* at = text.data();
  const char* const end = at + text.size();
  long long product = 1;
  for (std::size_t d = 0;; ++d) {
    const std::from_chars_result read = std::from_chars(at, end, dims[d]);
    const bool ends = read.ptr == end, goes_on = !ends && *read.ptr == 'x' && d < 2;
    if (read.ec != std::errc() || dims[d] < 1 || dims[d] > 1'000'000 || !(ends || goes_on))
      throw Refused(fmt::format("--grid '{}' is no process grid; it takes one to three numbers, such as 8x3x1", text));
    product *= dims[d];
    if (ends) break;
    at = read.ptr + 1;
  }
  if (product != processes)
    throw Refused(fmt::format("--grid {} has {} processes, and there are {} ranks", text, product, processes));
  return dims;
}

Grid::Grid(const Three& points, const Three& dims, bool periodic) : points_(points), dims_(dims) {
  for (std::size_t d = 0; d < 3; ++d) {
    if (dims_[d] > points_[d]) {
      throw Refused(fmt::format("{} processes cannot cut {} points: {} processes are more than {} planes", words(dims_),
                                words(points_), dims_[d], points_[d]));
    }
  }
  const Three wraps{periodic, periodic, periodic};
  const int reorder = 1;
  MPI_Cart_create(MPI_COMM_WORLD, 3, dims_.data(), wraps.data(), reorder, &comm_);
  rank_ = rank_of(comm_);
  for (int d = 0; d < 3; ++d) {
    int* two = &neighbours_[static_cast<std::size_t>(2 * d)];
    MPI_Cart_shift(comm_, d, 1, two, two + 1);
    if (dims_[static_cast<std::size_t>(d)] == 1) two[0] = two[1] = MPI_PROC_NULL;
  }
}

Grid::~Grid() { MPI_Comm_free(&comm_); }

Part Grid::part_of(int rank, int direction) const {
  Three place{};
  MPI_Cart_coords(comm_, rank, 3, place.data());
  const auto d = static_cast<std::size_t>(direction);
  return programs::part_of(points_[d], dims_[d], place[d]);
}

Block Grid::block() const { return Block{{part(0).count, part(1).count, part(2).count}}; }

}  // namespace stretto::programs
