#include "api/creation/environment.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include "carrier/directory_store.hpp"

namespace stretto::api {
namespace {

// Variables of one launcher. A batch system's may be another job step's, so they come last.
struct Launcher {
  const char *rank, *size;
};
constexpr Launcher kLaunchers[] = {{"STRETTO_RANK", "STRETTO_SIZE"},
                                   {"RANK", "WORLD_SIZE"},
                                   {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                   {"PMI_RANK", "PMI_SIZE"},
                                   {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
                                   {"SLURM_PROCID", "SLURM_NTASKS"}};

bool is_set(const char* name) noexcept {
  const char* const text = secure_getenv(name);
  return text && *text;
}

Status read_number(const char* name, int* number) noexcept {
  const char* const text = secure_getenv(name);
  const char* const end = text + std::string_view(text).size();
  const auto read = std::from_chars(text, end, *number);
  if (read.ec != std::errc{} || read.ptr != end || *number < 0)
    return fail(Status::invalid_argument, "{} is '{}', which is no number", name, text);
  return Status::ok;
}

}  // namespace

Status read_rank(int* rank, int* ranks) noexcept {
  const auto* const launcher = std::find_if(std::begin(kLaunchers), std::end(kLaunchers),
                                            [](const Launcher& l) { return is_set(l.rank) && is_set(l.size); });
  if (launcher == std::end(kLaunchers))
    return fail(
        Status::invalid_argument,
        std::string_view("the environment does not say which rank this is, and of how many: start the program "
                         "by stretto run --carrier ucx, torchrun or srun, or set STRETTO_RANK and STRETTO_SIZE"));
  if (const Status s = read_number(launcher->rank, rank); s != Status::ok) return s;
  if (const Status s = read_number(launcher->size, ranks); s != Status::ok) return s;
  if (*rank < *ranks) return Status::ok;
  return fail(Status::invalid_argument, "{} is {} and {} is {}: ranks count from 0", launcher->rank, *rank,
              launcher->size, *ranks);
}

Status open_job_store(std::unique_ptr<carrier::Store>* store) noexcept {
  const char* const url = secure_getenv("STRETTO_STORE");
  if (!url || !*url)
    return fail(Status::invalid_argument,
                std::string_view("STRETTO_STORE names no store, in which the ranks meet: start the program by stretto "
                                 "run --carrier ucx, or set file:///DIRECTORY"));
  return carrier::open_directory_store(url, store);
}

}  // namespace stretto::api
