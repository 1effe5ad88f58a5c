#include "job/images.hpp"

#include <cstring>
#include <filesystem>

#include <fmt/core.h>

#include "job/output.hpp"
#include "job/progress.hpp"
#include "rtm/migrate.hpp"
#include "rtm/velocity.hpp"

namespace stretto::stacking {
namespace {

Images migrate(MPI_Comm comm, const Options& o, int ranks, int rank) {
  const rtm::Field truth = rtm::layered_faulted_model(o.depth, o.width);
  const rtm::Field smooth = rtm::smooth_slowness(truth, 6, 3, rtm::water_rows(o.depth));
  const rtm::Survey survey = rtm::plan(truth, o.shots);

  Images out;
  out.shape = {static_cast<std::uint64_t>(o.shots), static_cast<std::uint64_t>(o.depth),
               static_cast<std::uint64_t>(o.width)};
  out.share = share_of(out.shape.n, ranks, rank);
  out.origin = fmt::format("reverse time migration of {} shots over a layered, faulted model", o.shots);
  out.cell_km = survey.dx * 1e-3;
  const std::size_t image = out.shape.pixels() * sizeof(float);
  out.data.resize(out.share.count * image);

  Progress progress(comm, fmt::format("migrating {} shots", o.shots), o.shots * rtm::kTicksPerShot);
  for (std::uint64_t k = 0; k < out.share.count; ++k) {
    const int shot = static_cast<int>(out.share.first + k);
    const rtm::Field f = rtm::migrate_shot(truth, smooth, survey, shot, [&](int) { progress.advance(); });
    std::memcpy(out.data.data() + k * image, f.v.data(), image);
  }
  progress.finish();
  return out;
}

Images read(const Options& o, int ranks, int rank) {
  Images out;
  out.shape = o.shape;
  out.type = o.type;
  out.share = share_of(o.shape.n, ranks, rank);
  out.origin = "from " + std::filesystem::path(o.file).filename().string();
  out.data = read_images(o.file, o.shape, o.type, out.share.first, out.share.count);
  return out;
}

}  // namespace

void check_together(MPI_Comm comm, const Options& options) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  std::string wrong;
  if (rank == 0) {
    try {
      if (!options.file.empty()) check_file(options.file, options.shape, options.type);
      check_outputs(options);
    } catch (const Problem& p) {
      wrong = p.what();
    }
  }
  int bad = wrong.empty() ? 0 : 1;
  MPI_Bcast(&bad, 1, MPI_INT, 0, comm);
  if (bad != 0) throw Problem(wrong);
}

Images obtain(MPI_Comm comm, const Options& o) {
  int ranks = 1;
  int rank = 0;
  MPI_Comm_size(comm, &ranks);
  MPI_Comm_rank(comm, &rank);
  Images out = o.file.empty() ? migrate(comm, o, ranks, rank) : read(o, ranks, rank);
  const std::size_t element = stretto_type_size(out.type);
  out.data = tile(out.data, out.shape.pixels() * element, o.tile, element);
  out.values = values_of(o);
  return out;
}

}  // namespace stretto::stacking
