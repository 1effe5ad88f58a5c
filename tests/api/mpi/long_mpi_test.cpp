// Vectors of more than 2^31 bytes: moved as one message by a schedule and through a node's memory, and summed as
// streams. Each element is checked. Skipped (status 77) if the host lacks the memory.
#include <sys/mman.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../../free_memory.hpp"
#include "../../launched.hpp"
#include "launched_ranks.hpp"

using namespace api_test;

namespace {

constexpr std::size_t kBytes = (std::size_t{1} << 31) + 12344;
constexpr std::size_t kWords = kBytes / 8, kNumbers = kBytes / 4;
constexpr std::size_t kNeededARank = kBytes + (std::size_t{3} << 29);  // the vector, and what streams and the MPI take
constexpr int kSkipped = 77;

// No two chunks, pages or words of them are alike.
std::uint64_t word_at(std::size_t i) { return (i + 1) * 0x9e3779b97f4a7c15; }

// A wave, higher from one mebibyte to the next. Its numbers and their sums are float32.
class Wave {
 public:
  Wave() {
    for (std::size_t i = 0; i < kPeriod; ++i)
      wave_[i] = std::round(std::sin(static_cast<float>(i) * 1e-3f) * 1024) / 1024;
  }
  float at(std::size_t i) const { return wave_[i % kPeriod] + static_cast<float>(i >> 18); }

 private:
  static constexpr std::size_t kPeriod = 4096;
  float wave_[kPeriod];
};

class Long : public LaunchedRanks {
 protected:
  // One for all tests: to write to so many fresh pages takes as long as to send them.
  static void SetUpTestSuite() {
    constexpr std::size_t page = std::size_t{1} << 21;
    vector = std::aligned_alloc(page, (kBytes + page - 1) / page * page);
    ASSERT_NE(vector, nullptr);
    madvise(vector, kBytes, MADV_HUGEPAGE);
  }
  static void TearDownTestSuite() { std::free(vector); }

  void broadcast(const char* schedule) {
    auto* const w = static_cast<std::uint64_t*>(vector);
    for (std::size_t i = 0; i < kWords; ++i) w[i] = rank == 0 ? word_at(i) : 1;
    stretto_options o = by(schedule);
    o.segment = std::strcmp(schedule, "node") == 0 ? 0 : std::size_t{1} << 32;
    ASSERT_STRETTO_OK(stretto_bcast(w, kBytes, STRETTO_U8, 0, comm, &o));
    EXPECT_STREQ(report.algorithm, schedule);
    std::size_t wrong = 0;
    while (wrong < kWords && w[wrong] == word_at(wrong)) ++wrong;
    EXPECT_EQ(wrong, kWords);
  }

  static void* vector;
};

void* Long::vector = nullptr;

TEST_F(Long, BytesAreBroadcastAsOneMessage) {
  broadcast("binomial");
  if (rank == 0) {
    EXPECT_GE(report.bytes_sent, kBytes);
  }
}

TEST_F(Long, BytesAreBroadcastThroughANodesMemory) { broadcast("node"); }

TEST_F(Long, FloatsAreSummedAsStreams) {
  auto* const x = static_cast<float*>(vector);
  const Wave wave;
  for (std::size_t i = 0; i < kNumbers; ++i) x[i] = wave.at(i) + static_cast<float>(rank);
  stretto_options o = bounded(1e-2);
  o.schedule = "recursive_doubling";
  o.payload = STRETTO_PAYLOAD_FUSED;
  o.report = &report;
  ASSERT_STRETTO_OK(stretto_allreduce(STRETTO_IN_PLACE, x, kNumbers, STRETTO_F32, STRETTO_SUM, comm, &o));
  EXPECT_GT(report.raw_bytes, std::uint64_t{1} << 31);
  const auto sum_of_ranks = static_cast<double>(ranks * (ranks - 1) / 2);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < kNumbers; ++i) {
    const double want = ranks * static_cast<double>(wave.at(i)) + sum_of_ranks;
    wrong += !(std::fabs(static_cast<double>(x[i]) - want) <= ranks * 1e-2 + 0x1p-12);
  }
  EXPECT_EQ(wrong, 0u);
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0, ranks = 0, rank = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  unsigned long long memory = free_memory();
  MPI_Bcast(&memory, 1, MPI_UNSIGNED_LONG_LONG, 0, MPI_COMM_WORLD);
  if (const std::size_t needed = kNeededARank * static_cast<std::size_t>(ranks); memory < needed) {
    if (rank == 0) std::printf("skipped: %llu MB are free, and this takes %zu\n", memory >> 20, needed >> 20);
    MPI_Finalize();
    return kSkipped;
  }
  testing::InitGoogleTest(&argc, argv);
  const int any = failed_anywhere(RUN_ALL_TESTS());
  MPI_Finalize();
  return any;
}
