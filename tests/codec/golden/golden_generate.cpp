// golden_generate DIR: writes the golden streams to DIR/accept and DIR/refuse. The format is frozen: existing files
// must be reproduced exactly (golden_test.cpp). Long streams of zeros have no file.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "golden.hpp"

namespace {

void write(const std::filesystem::path& file, const stretto::codec::Stream& bytes) {
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

int main(int argc, char** argv) {
  using namespace stretto::codec;
  if (argc != 2) {
    std::fprintf(stderr, "usage: golden_generate DIR\n");
    return 1;
  }
  const std::filesystem::path accept = std::filesystem::path(argv[1]) / "accept",
                              refuse = std::filesystem::path(argv[1]) / "refuse";
  std::filesystem::create_directories(accept);
  std::filesystem::create_directories(refuse);
  const Golden g = golden();
  for (const auto& [name, s] : g.accept) {
    write(accept / (name + ".str"), s);
    const Stream y = golden_values(name, s);
    if (y.size() <= 65536) write(accept / (name + ".bin"), y);
  }
  for (const auto& [name, s] : g.refuse) write(refuse / (name + ".str"), s);
  return 0;
}
