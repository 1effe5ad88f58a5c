// The fields that bench_gpu times.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "../../timing/gpu_support.hpp"

struct Field {
  std::string name;
  std::vector<float> x;
  double range;
};

inline std::vector<Field> fields(const std::string& data) {
  std::vector<Field> all;
  if (std::filesystem::is_directory(data))
    for (const auto& e : std::filesystem::directory_iterator(data)) {
      if (e.path().extension() != ".f32") continue;
      Field f{e.path().stem().string(), std::vector<float>(std::filesystem::file_size(e.path()) / 4), 0};
      std::ifstream(e.path(), std::ios::binary)
          .read(reinterpret_cast<char*>(f.x.data()), static_cast<std::streamsize>(4 * f.x.size()));
      all.push_back(std::move(f));
    }
  if (all.empty()) {  // a random walk, if there are no fields
    Field f{"walk", std::vector<float>(std::size_t{1} << 22), 0};
    std::uint64_t state = 1;
    float at = 0;
    for (float& v : f.x) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      v = at += static_cast<float>(state >> 40) * 0x1p-24f - 0.5f;
    }
    all.push_back(std::move(f));
  }
  for (Field& f : all) {
    double lo = 0, hi = 0;
    stretto::codec::must(stretto_value_range(STRETTO_F32, f.x.data(), f.x.size(), &lo, &hi), f.name);
    f.range = hi > 1e19 ? 30 : hi > lo ? hi - lo : 1;  // fill values: a typical range
  }
  std::sort(all.begin(), all.end(), [](const Field& a, const Field& b) { return a.name < b.name; });
  return all;
}
