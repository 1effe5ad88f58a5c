// A job over UCX, for ucx_test.py: the arguments select each rank's work, and its observations go to standard output.
//   sum                  one allreduce
//   die RANK [NAME]      allreduces until rank RANK kills itself; the others print their status and the longest delay
//   after its end,
//                        and, with a NAME, make a communicator of the survivors under it
//   long RANK            the same with long vectors through reduce_scatter and broadcasts in turns, too
//   short RANK           the same with short vectors
//   each                 one of each reduction and a broadcast, of several lengths and roots
//   hold SECONDS         allreduces for that time
//   choice               one allreduce; prints its schedule, the profile of the message times, and the predicted time
//   early                rank 0 broadcasts, frees its communicator and ends; the others come half a second later
// In the environment SCHEDULE forces the schedule of unchecked allreduces, and RANKS_A_HOST names hosts of so many
// ranks.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "stretto/stretto_store.h"

namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

int complain(const char* what, stretto_status s) {
  std::printf("%s: %s: %s\n", what, stretto_status_name(s), stretto_message());
  return 1;
}

stretto_status sum(stretto_comm comm, std::size_t n) {
  const std::vector<float> x(n, static_cast<float>(stretto_comm_rank(comm) + 1));
  std::vector<float> y(n);
  stretto_options o = STRETTO_OPTIONS_INIT;
  o.schedule = std::getenv("SCHEDULE");
  o.check = o.schedule == nullptr;
  const stretto_status s = stretto_allreduce(x.data(), y.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o);
  const int p = stretto_comm_size(comm);
  const float expected = static_cast<float>(p * (p + 1) / 2);
  if (s == STRETTO_OK && (y.front() != expected || y.back() != expected)) {
    std::printf("a sum is %g, not %g\n", static_cast<double>(y.front()), static_cast<double>(expected));
    std::exit(1);
  }
  return s;
}

// Sums and moves whose results arithmetic tells. `count`: elements of the vector.
stretto_status one_of_each(stretto_comm comm, std::size_t count, int root, int kind) {
  const int rank = stretto_comm_rank(comm), p = stretto_comm_size(comm);
  const std::size_t block = count / static_cast<std::size_t>(p);
  std::vector<float> x(count), y(count, -1);
  for (std::size_t i = 0; i < count; ++i) x[i] = static_cast<float>(i % 97 + static_cast<std::size_t>(rank));
  stretto_options o = STRETTO_OPTIONS_INIT;
  o.schedule = std::getenv("SCHEDULE");
  o.check = 0;
  stretto_status s = STRETTO_OK;
  std::size_t first = 0, end = count;
  const float ranks = static_cast<float>(p * (p - 1) / 2);
  float factor = static_cast<float>(p), added = ranks;
  if (kind == 0) s = stretto_allreduce(x.data(), y.data(), count, STRETTO_F32, STRETTO_SUM, comm, &o);
  if (kind == 1) {
    s = stretto_reduce_scatter_block(x.data(), y.data(), block, STRETTO_F32, STRETTO_SUM, comm, &o);
    first = block * static_cast<std::size_t>(rank), end = first + block;
  }
  if (kind == 2) {
    y = x;
    s = stretto_bcast(y.data(), count, STRETTO_F32, root, comm, &o);
    factor = 1, added = static_cast<float>(root);
  }
  if (kind == 3) {
    s = stretto_reduce(x.data(), y.data(), count, STRETTO_F32, STRETTO_SUM, root, comm, &o);
    if (rank != root) end = 0;
  }
  for (std::size_t i = first; s == STRETTO_OK && i < end; ++i) {
    const float expected = factor * static_cast<float>(i % 97) + added;
    if (y[i - first] == expected) continue;
    std::printf("kind %d of %zu with root %d: element %zu is %g, not %g\n", kind, count, root, i,
                static_cast<double>(y[i - first]), static_cast<double>(expected));
    std::exit(1);
  }
  return s;
}

int each(stretto_comm comm) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{1000}, std::size_t{300007}, std::size_t{1200000}})
    for (const int root : {0, 1, stretto_comm_size(comm) - 1})
      for (int kind = 0; kind < 4; ++kind)
        if (const stretto_status s = one_of_each(comm, count, root, kind); s != STRETTO_OK)
          return complain("a collective", s);
  stretto_comm_free(comm);
  return 0;
}

int early(stretto_comm comm) {
  const int rank = stretto_comm_rank(comm);
  std::vector<float> x(1000, rank == 0 ? 7.0f : 0.0f);
  if (rank != 0) std::this_thread::sleep_for(std::chrono::milliseconds(500));
  stretto_options o = STRETTO_OPTIONS_INIT;
  o.check = 0;
  const stretto_status s = stretto_bcast(x.data(), x.size(), STRETTO_F32, 0, comm, &o);
  if (s != STRETTO_OK) return complain("a broadcast", s);
  stretto_comm_free(comm);
  return x.back() == 7 ? 0 : 1;
}

int choice(stretto_comm comm) {
  const std::vector<float> x(100000, 1.0f);
  std::vector<float> y(x.size());
  stretto_report report = STRETTO_REPORT_INIT;
  stretto_options o = STRETTO_OPTIONS_INIT;
  o.report = &report;
  const stretto_status s = stretto_allreduce(x.data(), y.data(), x.size(), STRETTO_F32, STRETTO_SUM, comm, &o);
  if (s != STRETTO_OK) return complain("a sum", s);
  std::printf("by %s, messages of %s, predicted %.6f ms\n", report.algorithm, report.profile,
              report.predicted_seconds * 1e3);
  stretto_comm_free(comm);
  return 0;
}

int again(int dead, int rank, int ranks, const char* name) {
  setenv("STRETTO_RANK", std::to_string(rank > dead ? rank - 1 : rank).c_str(), 1);
  setenv("STRETTO_SIZE", std::to_string(ranks - 1).c_str(), 1);
  stretto_store_options o = STRETTO_STORE_OPTIONS_INIT;
  o.name = name;
  o.timeout = 20;
  stretto_comm comm = nullptr;
  stretto_status s = stretto_comm_create_environment(&o, &comm);
  if (s == STRETTO_OK) s = sum(comm, 10000);
  if (s != STRETTO_OK) return complain("again", s);
  std::printf("again %d of %d\n", stretto_comm_rank(comm), stretto_comm_size(comm));
  stretto_comm_free(comm);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "sum";
  stretto_store_options o = STRETTO_STORE_OPTIONS_INIT;
  if (const char* each = std::getenv("RANKS_A_HOST"))
    setenv("STRETTO_HOST", ("host" + std::to_string(std::atoi(std::getenv("STRETTO_RANK")) / std::atoi(each))).c_str(),
           1);
  const char* const limit = std::getenv("LIMIT");
  if (limit) o.timeout = std::atof(limit);
  stretto_comm comm = nullptr;
  stretto_status s = stretto_comm_create_environment(limit ? &o : nullptr, &comm);
  if (s != STRETTO_OK) return complain("no communicator", s);
  const int rank = stretto_comm_rank(comm), ranks = stretto_comm_size(comm);
  std::printf("rank %d of %d\n", rank, ranks);
  std::fflush(stdout);
  if (what == "early") return early(comm);
  if (what == "choice") return choice(comm);
  if (what == "each") return each(comm);
  const bool in_turns = what == "long" || what == "short", dies = in_turns || what == "die";
  const std::size_t count = what == "long" ? 600000 : 100;
  const auto begin = Clock::now();
  auto last = begin;
  for (int k = 0; s == STRETTO_OK; ++k) {
    if (dies && rank == std::atoi(argv[2]) && k == 20) kill(getpid(), SIGKILL);
    last = Clock::now();
    s = in_turns ? one_of_each(comm, count, k % ranks, k % 3) : sum(comm, k % 2 == 0 ? 10 : 100000);
    if (what == "sum" && k == 3) break;
    if (what == "hold" && rank == 0 && since(begin) > std::atof(argv[2])) setenv("DONE", "1", 1);
    if (what == "hold") {
      float done = std::getenv("DONE") ? 1 : 0, any = 0;
      if (s == STRETTO_OK) s = stretto_allreduce(&done, &any, 1, STRETTO_F32, STRETTO_MAX, comm, nullptr);
      if (any > 0) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  if (!dies) {
    if (s != STRETTO_OK) return complain("a collective", s);
    stretto_comm_free(comm);
    return 0;
  }
  complain("a collective", s);
  std::printf("after %.3f s\n", since(last));
  stretto_comm_free(comm);
  return argc > 3 ? again(std::atoi(argv[2]), rank, ranks, argv[3]) : 0;
}
