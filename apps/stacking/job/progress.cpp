#include "job/progress.hpp"

#include <unistd.h>

#include <cmath>
#include <utility>

#include <fmt/core.h>

namespace stretto::stacking {

Progress::Progress(MPI_Comm comm, std::string what, int total)
    : comm_(comm), what_(std::move(what)), total_(total), terminal_(isatty(STDERR_FILENO) != 0), start_(MPI_Wtime()) {
  MPI_Comm_rank(comm_, &rank_);
}

void Progress::advance() {
  if (rank_ != 0) {
    // An empty message without a buffer; at most a few hundred in all.
    MPI_Send(nullptr, 0, MPI_BYTE, 0, 0, comm_);
    return;
  }
  ++done_;
  receive(false);
  draw();
}

void Progress::finish() {
  if (rank_ != 0) return;
  while (done_ < total_) {
    receive(true);
    draw();
  }
  if (terminal_) fmt::print(stderr, "\n");
}

void Progress::receive(bool wait) {
  int there = 1;
  while (done_ < total_) {
    if (!wait) MPI_Iprobe(MPI_ANY_SOURCE, 0, comm_, &there, MPI_STATUS_IGNORE);
    if (there == 0) return;
    MPI_Recv(nullptr, 0, MPI_BYTE, MPI_ANY_SOURCE, 0, comm_, MPI_STATUS_IGNORE);
    ++done_;
    if (wait) return;
  }
}

void Progress::draw() {
  const double seconds = MPI_Wtime() - start_;
  if (terminal_) {
    fmt::print(stderr, "\r{}", bar(what_, done_, total_, seconds));
    std::fflush(stderr);
    return;
  }
  const int quarter = total_ == 0 ? 4 : done_ * 4 / total_;
  if (quarter <= shown_ || quarter == 0) return;
  shown_ = quarter;
  fmt::print(stderr, "{}: {} %, {:.1f} s\n", what_, quarter * 25, seconds);
}

std::string bar(const std::string& what, int done, int total, double seconds) {
  constexpr int columns = 40;
  const double part = total > 0 ? static_cast<double>(done) / total : 1.0;
  const int full = static_cast<int>(part * columns);
  const std::string rest = done == 0 || done >= total
                               ? fmt::format("{:.1f} s      ", seconds)
                               : fmt::format("{:.0f} s left  ", std::ceil(seconds / part - seconds));
  return fmt::format("{} [{}{}] {:3.0f} %  {}", what, std::string(static_cast<std::size_t>(full), '#'),
                     std::string(static_cast<std::size_t>(columns - full), '.'), 100 * part, rest);
}

}  // namespace stretto::stacking
