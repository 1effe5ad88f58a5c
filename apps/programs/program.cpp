#include "program.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "apps/mpi_main.hpp"

namespace stretto::programs {
namespace {

// Number of hosts: counts each host's first rank.
int hosts() {
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  int first = rank_of(host) == 0 ? 1 : 0, all = 0;
  MPI_Comm_free(&host);
  MPI_Allreduce(&first, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

// "Open MPI 5.0.11" from "Open MPI v5.0.11, ...", and "MPICH 5.0.2" from "MPICH Version:      5.0.2" and further lines.
std::string library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string all(text), line = all.substr(0, all.find_first_of(",\n"));
  const std::size_t digits = line.find_first_of("0123456789");
  if (digits == std::string::npos) return line;
  std::string name = line.substr(0, digits);
  for (const char* word : {"Version:", "v"})
    if (const std::size_t at = name.rfind(word); at != std::string::npos) name.erase(at);
  return name.erase(name.find_last_not_of(" \t") + 1) + " " + line.substr(digits);
}

Json machine() {
  char host[MPI_MAX_PROCESSOR_NAME] = {};
  int length = 0;
  MPI_Get_processor_name(host, &length);
  return {{"event", "machine"},   {"host", host},
          {"library", library()}, {"ranks", size_of(MPI_COMM_WORLD)},
          {"hosts", hosts()},     {"cores", sysconf(_SC_NPROCESSORS_ONLN)}};
}

std::vector<double> reduced(const std::vector<double>& mine, MPI_Op op) {
  std::vector<double> all(mine.size());
  MPI_Allreduce(mine.data(), all.data(), static_cast<int>(mine.size()), MPI_DOUBLE, op, MPI_COMM_WORLD);
  return all;
}

}  // namespace

int rank_of(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

int size_of(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  return size;
}

void Report::event(const Json& event) const {
  if (!speaks_) return;
  const std::string line = event.dump() + "\n";
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);  // a reader shows progress
}

void Report::row(const Json& fields) const {
  Json row{{"event", "row"}, {"part", part_}};
  row.update(fields);
  event(row);
}

void Report::progress(int done, int total) const {
  event({{"event", "progress"}, {"part", part_}, {"done", done}, {"total", total}});
}

Timing timing(std::vector<double> samples) {
  Timing t;
  const std::size_t n = samples.size();
  if (n == 0) return t;
  std::sort(samples.begin(), samples.end());
  t.samples = static_cast<int>(n);
  t.median = n % 2 == 1 ? samples[n / 2] : (samples[n / 2 - 1] + samples[n / 2]) / 2;
  // The median lies below the k-th smallest sample with the probability of fewer than k heads in n coin tosses.
  const double spread = 1.96 * std::sqrt(static_cast<double>(n)) / 2;
  const auto below = static_cast<std::size_t>(std::max(0.0, std::floor(static_cast<double>(n) / 2 - spread)));
  t.low = samples[below];
  t.high = samples[n - 1 - below];
  return t;
}

Json as_json(const Timing& t) {
  return {{"seconds", t.median}, {"low", t.low}, {"high", t.high}, {"samples", t.samples}};
}

std::vector<double> slowest(const std::vector<double>& mine) { return reduced(mine, MPI_MAX); }

std::vector<double> averaged(const std::vector<double>& mine) {
  std::vector<double> all = reduced(mine, MPI_SUM);
  for (double& value : all) value /= size_of(MPI_COMM_WORLD);
  return all;
}

Timing measure(int repeats, const std::function<void()>& work) {
  work();
  std::vector<double> samples;
  for (int i = 0; i < repeats; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    work();
    samples.push_back(MPI_Wtime() - start);
  }
  return timing(slowest(samples));
}

void check_memory(double bytes, const std::string& what) {
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  double here = 0;
  MPI_Allreduce(&bytes, &here, 1, MPI_DOUBLE, MPI_SUM, host);
  MPI_Comm_free(&host);
  // The host with the least memory left decides, so that all ranks refuse alike.
  const double there = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  double left = there - here, least = 0;
  MPI_Allreduce(&left, &least, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  if (least >= 0) return;
  double needed = left == least ? here : 0;
  MPI_Allreduce(MPI_IN_PLACE, &needed, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  throw Refused(
      fmt::format("{} takes {:.1f} GB on a host that has {:.1f} GB", what, needed / 1e9, (needed + least) / 1e9));
}

int program(int argc, char** argv, const std::string& name, const std::string& about,
            const std::function<void(CLI::App&)>& options, const std::function<void(Report&)>& run) {
  const std::string full = "stretto-" + name;
  return mpi_main(argc, argv, full.c_str(), [&](int count, char** words, int rank) {
    const double start = MPI_Wtime();
    CLI::App app{about + " Events are JSON lines on standard output."};
    options(app);
    // All ranks see equal arguments; rank 0 reports mistakes.
    try {
      app.parse(count, words);
    } catch (const CLI::ParseError& e) {
      if (rank == 0 && e.get_exit_code() == 0) app.exit(e);
      if (rank == 0 && e.get_exit_code() != 0) fmt::print(stderr, "{}: {}\n", full, e.what());
      return e.get_exit_code() == 0 ? 0 : 2;
    }
    Report report(name, rank == 0);
    try {
      report.event(machine());
      run(report);
    } catch (const Refused& e) {
      if (rank == 0) fmt::print(stderr, "{}: {}\n", full, e.what());
      return 2;
    }
    report.event({{"event", "end"}, {"seconds", MPI_Wtime() - start}});
    return 0;
  });
}

}  // namespace stretto::programs
