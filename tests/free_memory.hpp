// How much memory a test may take.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

// The number in a file that holds one after `words`, else `otherwise`.
inline std::size_t number_in(const char* path, const char* words, std::size_t otherwise) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::size_t number = 0;
    if (line.starts_with(words) && std::sscanf(line.c_str() + std::strlen(words), " %zu", &number) == 1) return number;
  }
  return otherwise;
}

// Free memory of this host, and of its container, if any.
inline std::size_t free_memory() {
  const std::size_t host = number_in("/proc/meminfo", "MemAvailable:", 0) * 1024;
  const std::size_t most = number_in("/sys/fs/cgroup/memory.max", "", host);
  return std::min(host, most - std::min(most, number_in("/sys/fs/cgroup/memory.current", "", 0)));
}
