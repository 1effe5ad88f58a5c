// Output of benchmarks: rows of JSON, one object per line, appended to the file named by `--json`, and nothing else.
// bench/table.py turns them into a table.
//
// A row has bench, case, metric, value, unit. If a peer was measured in the same run: peer, peer_value and ratio, ours
// against the peer's, such that larger is always better. Further fields are optional.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace stretto::timing {

// The better direction: a throughput's larger, a time's smaller.
enum class Better : std::uint8_t { larger, smaller };

struct Peer {
  std::string name;
  double value = 0;  // in the unit of the row
};

struct Row {
  std::string bench;    // "codec"
  std::string subject;  // written as "case": "marmousi_rtm 1e-3"
  std::string metric;   // "compress_gbps"
  double value = 0;
  std::string unit;  // "GB/s"
  Better better = Better::larger;
  std::optional<Peer> peer{};
  nlohmann::ordered_json fields = nlohmann::ordered_json::object();  // further fields, written after these
};

inline nlohmann::ordered_json to_json(const Row& row) {
  nlohmann::ordered_json j{
      {"bench", row.bench}, {"case", row.subject}, {"metric", row.metric}, {"value", row.value}, {"unit", row.unit}};
  if (row.peer) {
    const bool larger = row.better == Better::larger;
    const double over = larger ? row.value : row.peer->value;
    const double under = larger ? row.peer->value : row.value;
    j["peer"] = row.peer->name;
    j["peer_value"] = row.peer->value;
    j["ratio"] = under != 0 ? nlohmann::ordered_json(over / under) : nlohmann::ordered_json(nullptr);
  }
  j.update(row.fields);
  return j;
}

// Appends rows to a file and flushes each, so that an interrupted run keeps its measurements.
class Writer {
 public:
  // Throws std::runtime_error naming the file if it cannot be opened. An empty path writes to standard output.
  explicit Writer(const std::string& path) : file_(path.empty() ? stdout : std::fopen(path.c_str(), "a")) {
    if (file_ == nullptr) throw std::runtime_error(fmt::format("cannot open {} to append rows", path));
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() {
    if (file_ != stdout) std::fclose(file_);
  }

  void write(const Row& row) {
    const std::string line = to_json(row).dump() + "\n";
    if (std::fwrite(line.data(), 1, line.size(), file_) != line.size() || std::fflush(file_) != 0) {
      throw std::runtime_error("cannot write a row");
    }
  }

 private:
  std::FILE* file_;
};

// The median; for an even number of samples the mean of the middle two. Requires at least one sample.
inline double median(std::vector<double> samples) {
  if (samples.empty()) throw std::invalid_argument("median of no samples");
  const auto half = static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), samples.begin() + half, samples.end());
  const double upper = samples[static_cast<std::size_t>(half)];
  if (samples.size() % 2 == 1) return upper;
  return (upper + *std::max_element(samples.begin(), samples.begin() + half)) / 2;
}

}  // namespace stretto::timing
