// One message of more than 2^31 bytes through the MPI carrier, from rank 0 to rank 1. Skipped (status 77) if the host
// lacks the memory. Exit status 1, with a message on standard error, on failure.
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>

#include "../free_memory.hpp"
#include "modules/mpi/carrier.hpp"

namespace {

using stretto::Status;
using stretto::carrier::Carrier;
using stretto::carrier::Completion;

constexpr std::size_t kLength = (std::size_t{1} << 31) + 12345;
constexpr std::size_t kNeeded = 2 * kLength + (std::size_t{1} << 30);  // of both ranks, and of the MPI
constexpr int kSkipped = 77;
constexpr double kLimit = 300;  // seconds

int complain(const char* what) {
  std::fprintf(stderr, "%s: %s\n", what, stretto::message());
  return 1;
}

// Word at byte i: all chunks, pages and words differ.
std::uint64_t word_at(std::size_t i) { return (i / 8 + 1) * 0x9e3779b97f4a7c15; }

void fill(unsigned char* data) {
  for (std::size_t i = 0; i < kLength; i += 8) {
    const std::uint64_t word = word_at(i);
    std::memcpy(data + i, &word, std::min<std::size_t>(8, kLength - i));
  }
}

// The first byte that differs, or length.
std::size_t wrong_at(const unsigned char* data) {
  for (std::size_t i = 0; i < kLength; i += 8) {
    const std::uint64_t word = word_at(i);
    if (std::memcmp(data + i, &word, std::min<std::size_t>(8, kLength - i)) != 0) return i;
  }
  return kLength;
}

int move(Carrier& c, unsigned char* data) {
  const bool sends = c.rank() == 0;
  if (sends) fill(data);
  // Room for more than comes: the message ends by its own length.
  const Status started = sends ? c.start_send(1, 5, data, kLength, 7) : c.start_recv(0, 5, data, kLength + 100, 7);
  if (started != Status::ok) return complain("the message does not start");
  Completion done;
  std::size_t n = 0;
  if (c.wait_any({&done, 1}, &n, kLimit) != Status::ok || n != 1) return complain("the message does not end");
  if (done.status != Status::ok) return complain("the message failed");
  if (done.id != 7 || done.bytes != kLength) {
    std::fprintf(stderr, "%zu bytes of %zu moved\n", done.bytes, kLength);
    return 1;
  }
  if (const std::size_t at = sends ? kLength : wrong_at(data); at != kLength) {
    std::fprintf(stderr, "the message was changed at byte %zu\n", at);
    return 1;
  }
  return 0;
}

int run() {
  std::unique_ptr<Carrier> c;
  if (stretto::modules::make_mpi_carrier(MPI_COMM_WORLD, {}, &c) != Status::ok) return complain("no carrier");
  // Pages are taken as they are written, so that nothing is cleared by hand.
  void* data = mmap(nullptr, kLength + 100, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) return complain("no addresses");
  const int failed = move(*c, static_cast<unsigned char*>(data));
  munmap(data, kLength + 100);
  return failed;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  unsigned long long memory = free_memory();
  MPI_Bcast(&memory, 1, MPI_UNSIGNED_LONG_LONG, 0, MPI_COMM_WORLD);
  if (memory < kNeeded) {
    if (rank == 0) std::printf("skipped: %llu MB are free, and this takes %zu\n", memory >> 20, kNeeded >> 20);
    MPI_Finalize();
    return kSkipped;
  }
  int failed = run(), any = 0;
  MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return any;
}
