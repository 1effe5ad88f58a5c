#include "bench/mpi/fields.hpp"

#include <cmath>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <random>

#include <fmt/core.h>

#include "rtm/migrate.hpp"
#include "rtm/velocity.hpp"
#include "stack/images.hpp"

namespace stretto::bench {
namespace {

using stacking::Share;

void add(const std::vector<float>& array, std::vector<float>* sum) {
  sum->resize(array.size());
  for (std::size_t i = 0; i < array.size(); ++i) (*sum)[i] += array[i];
}

std::vector<float> read_share(const std::string& path, const stacking::Shape& shape, const Share& share) {
  std::vector<float> sum(shape.pixels());
  for (std::uint64_t k = 0; k < share.count; ++k) {
    const std::vector<std::byte> one = stacking::read_images(path, shape, STRETTO_F32, share.first + k, 1);
    std::vector<float> values(shape.pixels());
    std::memcpy(values.data(), one.data(), one.size());
    add(values, &sum);
  }
  return sum;
}

std::vector<float> migrated(const Share& share, int shots) {
  namespace rtm = stacking::rtm;
  const rtm::Field truth = rtm::layered_faulted_model(128, 256);
  const rtm::Field smooth = rtm::smooth_slowness(truth, 4, 3, rtm::water_rows(truth.nz));
  const rtm::Survey survey = rtm::plan(truth, shots);
  std::vector<float> sum(truth.v.size());
  for (std::uint64_t k = 0; k < share.count; ++k) {
    add(rtm::migrate_shot(truth, smooth, survey, static_cast<int>(share.first + k)).v, &sum);
  }
  return sum;
}

std::vector<float> noise(const Share& share, std::size_t count) {
  constexpr std::size_t row = 512;
  std::vector<float> sum(count);
  for (std::uint64_t k = 0; k < share.count; ++k) {
    std::mt19937 made(static_cast<unsigned>(share.first + k));
    std::normal_distribution<float> normal;
    std::vector<float> one(count);
    float strength = 1;
    for (std::size_t i = 0; i < count; ++i) {
      if (i % row == 0) strength = std::exp(1.5F * normal(made));
      one[i] = 1e-3F * strength * normal(made);
    }
    add(one, &sum);
  }
  return sum;
}

}  // namespace

Arrays field(const std::string& name, const std::string& directory, int ranks, int rank) {
  const bool images = name == "marmousi_rtm";
  if (!images && name != "gpt_grad_step10") throw stacking::Problem(fmt::format("there is no field \"{}\"", name));
  const stacking::Shape shape = images ? stacking::Shape{12, 286, 941} : stacking::Shape{8, 1, 443008};
  const Share share = stacking::share_of(shape.n, ranks, rank);
  const std::string path = fmt::format("{}/{}_{}.f32", directory, name, images ? "12x286x941" : "8x443008");
  if (!directory.empty() && std::filesystem::exists(path)) {
    stacking::check_file(path, shape, STRETTO_F32);
    return {name, read_share(path, shape, share)};
  }
  if (images) return {"migrated", migrated(share, static_cast<int>(shape.n))};
  return {"noise_grad", noise(share, shape.pixels())};
}

}  // namespace stretto::bench
