// A C++17 program over stretto.hpp: every function that takes a std::span in C++20 takes pointers and lengths.
#include <cstdio>

#include "stretto/stretto.hpp"

int main() {
  const stretto::thread_group group(1);
  stretto::communicator comm(group, 0);
  std::vector<float> x = {1, 2, 3.5f, -4}, y(4);
  comm.allreduce(x.data(), y.data(), x.size(), STRETTO_SUM);
  comm.allreduce(y.data(), y.size(), STRETTO_SUM);
  const float* twice[] = {x.data(), x.data()};
  std::vector<float> sum(4);
  comm.allreduce(twice, 2, sum.data(), sum.size(), STRETTO_SUM);
  comm.bcast(y.data(), y.size(), 0);
  const std::size_t four = 4;
  std::vector<float> moved(4);
  comm.alltoallv(y.data(), &four, nullptr, moved.data(), &four, nullptr);
  const auto stream = stretto::compress(x.data(), x.size(), 0.01);
  const auto back = stretto::decompress<float>(stream.data(), stream.size());
  const bool whole =
      moved == x && sum[2] == 7 && back.size() == 4 && stretto::inspect(stream.data(), stream.size()).count == 4;
  if (!whole) std::fputs("values are wrong\n", stderr);
  return whole ? 0 : 1;
}
