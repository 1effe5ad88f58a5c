// Every rank starts one message to the right and one to the left. Each iteration forwards all of them, and after as
// many iterations as ranks they return: 2 p^2 messages. A message's tag identifies its origin.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "program.hpp"

namespace stretto::programs {
namespace {

using Word = std::uint64_t;
constexpr int kRight = 0, kLeft = 1;  // direction of a message

class Ring {
 public:
  explicit Ring(std::size_t bytes) : words_(bytes / sizeof(Word)) {
    const int whole = size_of(MPI_COMM_WORLD), periodic = 1, reorder = 1;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &whole, &periodic, reorder, &comm_);
    rank_ = rank_of(comm_);
    size_ = whole;
    MPI_Cart_shift(comm_, 0, 1, &left_, &right_);
    for (auto& buffer : buffers_) buffer.resize(2 * words_);
  }
  ~Ring() { MPI_Comm_free(&comm_); }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // Writes this rank's two messages to the first buffer.
  void start() {
    for (const int way : {kRight, kLeft}) {
      const std::span<Word> message = part(0, way);
      for (std::size_t i = 0; i < words_; ++i) message[i] = word(way, i);
    }
  }

  // Checks that this rank's messages have returned unchanged.
  void check(const char* variant) const {
    int wrong = 0;
    for (const int way : {kRight, kLeft}) {
      const Word* message = buffers_[at(size_)].data() + static_cast<std::size_t>(way) * words_;
      for (std::size_t i = 0; i < words_; ++i) wrong |= message[i] != word(way, i) ? 1 << way : 0;
    }
    if (wrong != 0) {
      throw std::runtime_error(
          fmt::format("{}: the message that went {} is not home", variant, wrong & 1 ? "right" : "left"));
    }
  }

  // Even ranks send first and odd ranks receive first; otherwise all would block in MPI_Send. With an odd number, two
  // neighbours send first, and their other neighbours receive, so the ranks progress one after another.
  void blocking() {
    for (int step = 0; step < size_; ++step) {
      for (const int way : {kRight, kLeft}) {
        if (rank_ % 2 == 0) {
          send(step, way);
          receive(step, way);
        } else {
          receive(step, way);
          send(step, way);
        }
      }
    }
  }

  void sendrecv() {
    for (int step = 0; step < size_; ++step) {
      for (const int way : {kRight, kLeft}) {
        MPI_Sendrecv(out(step, way), count(), MPI_UINT64_T, to(way), tag(step, way), in(step, way), count(),
                     MPI_UINT64_T, from(way), tag(step + 1, way), comm_, MPI_STATUS_IGNORE);
      }
    }
  }

  void nonblocking() {
    for (int step = 0; step < size_; ++step) {
      std::array<MPI_Request, 4> requests{};
      for (const int way : {kRight, kLeft}) {
        MPI_Irecv(in(step, way), count(), MPI_UINT64_T, from(way), tag(step + 1, way), comm_, &requests[way]);
        MPI_Isend(out(step, way), count(), MPI_UINT64_T, to(way), tag(step, way), comm_, &requests[2 + way]);
      }
      MPI_Waitall(4, requests.data(), MPI_STATUSES_IGNORE);
    }
  }

  // A persistent request keeps its tag, so each iteration has its own requests, made once.
  void prepare() {
    requests_.resize(4 * static_cast<std::size_t>(size_));
    for (int step = 0; step < size_; ++step) {
      MPI_Request* four = &requests_[4 * static_cast<std::size_t>(step)];
      for (const int way : {kRight, kLeft}) {
        MPI_Recv_init(in(step, way), count(), MPI_UINT64_T, from(way), tag(step + 1, way), comm_, four + way);
        MPI_Send_init(out(step, way), count(), MPI_UINT64_T, to(way), tag(step, way), comm_, four + 2 + way);
      }
    }
  }
  void persistent() {
    for (int step = 0; step < size_; ++step) {
      MPI_Request* four = &requests_[4 * static_cast<std::size_t>(step)];
      MPI_Startall(4, four);
      MPI_Waitall(4, four, MPI_STATUSES_IGNORE);
    }
  }
  void release() {
    for (MPI_Request& request : requests_) MPI_Request_free(&request);
    requests_.clear();
  }

  // One call per iteration, with the left neighbour's block first. Data from the left continue to the right, so they
  // are received in place of the block for the right.
  void neighbourhood() {
    const std::array<int, 2> counts{count(), count()};
    const std::array<int, 2> sends{kLeft * count(), kRight * count()}, receives{kRight * count(), kLeft * count()};
    for (int step = 0; step < size_; ++step) {
      MPI_Neighbor_alltoallv(buffers_[at(step)].data(), counts.data(), sends.data(), MPI_UINT64_T,
                             buffers_[at(step + 1)].data(), counts.data(), receives.data(), MPI_UINT64_T, comm_);
    }
  }

 private:
  static std::size_t at(int step) { return static_cast<std::size_t>(step % 2); }
  std::span<Word> part(int step, int way) {
    return std::span(buffers_[at(step)]).subspan(static_cast<std::size_t>(way) * words_, words_);
  }
  Word* out(int step, int way) { return part(step, way).data(); }
  Word* in(int step, int way) { return part(step + 1, way).data(); }
  int count() const { return static_cast<int>(words_); }
  int to(int way) const { return way == kRight ? right_ : left_; }
  int from(int way) const { return way == kRight ? left_ : right_; }
  // Origin of the message that is here before this iteration, with separate tags per direction.
  int tag(int step, int way) const {
    const int origin = (way == kRight ? rank_ + size_ - step % size_ : rank_ + step) % size_;
    return 2 * origin + way;
  }
  Word word(int way, std::size_t i) const {
    return (Word{2} * static_cast<Word>(rank_) + static_cast<Word>(way)) << 40 | i;
  }

  void send(int step, int way) { MPI_Send(out(step, way), count(), MPI_UINT64_T, to(way), tag(step, way), comm_); }
  void receive(int step, int way) {
    MPI_Recv(in(step, way), count(), MPI_UINT64_T, from(way), tag(step + 1, way), comm_, MPI_STATUS_IGNORE);
  }

  std::size_t words_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1, left_ = 0, right_ = 0;
  std::array<std::vector<Word>, 2> buffers_;  // each has the message to the right, then the message to the left
  std::vector<MPI_Request> requests_;
};

struct Variant {
  const char* name;
  void (Ring::*pass)();
};
constexpr Variant kVariants[] = {{"blocking", &Ring::blocking},
                                 {"sendrecv", &Ring::sendrecv},
                                 {"nonblocking", &Ring::nonblocking},
                                 {"persistent", &Ring::persistent},
                                 {"neighbourhood", &Ring::neighbourhood}};

struct Options {
  std::size_t bytes = 8'000'000;
  int repeats = 9;
};

void run(const Options& options, Report& report) {
  const int p = size_of(MPI_COMM_WORLD);
  if (p < 2) throw Refused("1 rank is no ring; start at least 2");
  if (options.bytes % sizeof(Word) != 0) {
    throw Refused(fmt::format("a message of {} bytes is no multiple of {}", options.bytes, sizeof(Word)));
  }
  check_memory(4.0 * static_cast<double>(options.bytes),
               fmt::format("a ring of {} ranks with messages of {} bytes", p, options.bytes));
  Ring ring(options.bytes);
  ring.prepare();
  int done = 0;
  report.progress(0, std::size(kVariants));
  for (const Variant& variant : kVariants) {
    ring.start();
    (ring.*variant.pass)();
    ring.check(variant.name);
    const Timing t = measure(options.repeats, [&] { (ring.*variant.pass)(); });
    const double megabytes = 2.0 * p * p * static_cast<double>(options.bytes) / 1e6;
    Json row{{"variant", variant.name}, {"bytes", options.bytes}, {"messages", 2 * p * p}, {"megabytes", megabytes}};
    row.update(as_json(t));
    row["rate"] = megabytes / t.median;
    report.row(row);
    report.progress(++done, std::size(kVariants));
  }
  ring.release();
}

}  // namespace
}  // namespace stretto::programs

int main(int argc, char** argv) {
  using namespace stretto::programs;
  Options options;
  return program(
      argc, argv, "ring", "Passes messages around a ring of ranks, both ways, until they are home.",
      [&](CLI::App& app) {
        app.add_option("--bytes", options.bytes, "of a message, a multiple of 8")
            ->check(CLI::Range(std::size_t{8}, std::size_t{1} << 31));
        app.add_option("--repeats", options.repeats, "rounds that are timed")->check(CLI::Range(1, 10000));
      },
      [&](Report& report) { run(options, report); });
}
