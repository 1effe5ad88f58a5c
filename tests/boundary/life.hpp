// Operations of boundary tests on a communicator, by the C API or, in a program unaware of stretto, by MPI alone with
// the profiling library preloaded. Names are equal, so a test is written once and built for both.
#pragma once

#include <dirent.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstddef>
#include <fstream>
#include <string>
#include <vector>

#ifndef PRELOADED
#include "stretto/stretto_mpi.h"
#endif

namespace boundary {

inline int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

inline int world_size() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

// How many ranks say so; collective.
inline int count_of(bool here) {
  int mine = here ? 1 : 0, all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

inline int descriptors() {
  int n = 0;
  DIR* all = opendir("/proc/self/fd");
  while (all != nullptr && readdir(all) != nullptr) ++n;
  if (all != nullptr) closedir(all);
  return n;
}

// Mappings of memory that a group of ranks shares.
inline int shared_mappings() {
  int n = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) n += line.find("memfd:stretto-node") != std::string::npos ? 1 : 0;
  return n;
}

// A communicator of all ranks, and calls on it. Each call returns true for a right result; false, with the reason in
// text().
class Life {
 public:
#ifdef PRELOADED
  Life() {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  }
  ~Life() { MPI_Comm_free(&comm_); }
  bool made() const { return true; }
#else
  Life() { ended(stretto_comm_create(MPI_COMM_WORLD, &comm_)); }
  ~Life() { stretto_comm_free(comm_); }
  bool made() const { return comm_ != nullptr; }
  // Timeout of the following calls; negative: none.
  void limit(double seconds) { options_.timeout = seconds; }
  void schedule(const char* name) { options_.schedule = name; }
  stretto_comm comm() const { return comm_; }
#endif
  Life(const Life&) = delete;
  Life& operator=(const Life&) = delete;

  const std::string& text() const { return text_; }

  // The ranks' numbers + 1, `count` times, are added.
  bool allreduce(std::size_t count) {
    const int p = world_size();
    std::vector<float> x(count, static_cast<float>(world_rank() + 1)), y(count);
#ifdef PRELOADED
    const bool ok = ended(MPI_Allreduce(x.data(), y.data(), static_cast<int>(count), MPI_FLOAT, MPI_SUM, comm_));
#else
    const bool ok = ended(stretto_allreduce(x.data(), y.data(), count, STRETTO_F32, STRETTO_SUM, comm_, &options_));
#endif
    return ok && right(y, [&](std::size_t) { return static_cast<float>(p * (p + 1) / 2); });
  }

  bool allgather(std::size_t count) {
    std::vector<float> x(count, static_cast<float>(world_rank() + 1)),
        y(count * static_cast<std::size_t>(world_size()));
#ifdef PRELOADED
    const int n = static_cast<int>(count);
    const bool ok = ended(MPI_Allgather(x.data(), n, MPI_FLOAT, y.data(), n, MPI_FLOAT, comm_));
#else
    const bool ok = ended(stretto_allgather(x.data(), y.data(), count, STRETTO_F32, comm_, &options_));
#endif
    return ok && right(y, [&](std::size_t i) { return static_cast<float>(i / count + 1); });
  }

  // Short and long calls that repeat.
  void expect_calls_to_succeed() {
    for (int call = 0; call < 6; ++call) {
      EXPECT_TRUE(allreduce(2)) << text();
      EXPECT_TRUE(allgather(200000)) << text();
    }
  }

 private:
#ifdef PRELOADED
  bool ended(int code) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (code != MPI_SUCCESS) MPI_Error_string(code, text, &length);
    text_ = text;
    return code == MPI_SUCCESS;
  }
  MPI_Comm comm_ = MPI_COMM_NULL;
#else
  bool ended(stretto_status s) {
    text_ = s == STRETTO_OK ? "" : stretto_message();
    return s == STRETTO_OK;
  }
  static stretto_options chosen() {
    stretto_options o = STRETTO_OPTIONS_INIT;
    return o;
  }
  stretto_comm comm_ = nullptr;
  stretto_options options_ = chosen();
#endif
  template <class Expected>
  bool right(const std::vector<float>& y, const Expected& expected) {
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (y[i] == expected(i)) continue;
      text_ = "wrong value at " + std::to_string(i);
      ADD_FAILURE() << text_;
      return false;
    }
    return true;
  }
  std::string text_;
};

}  // namespace boundary
