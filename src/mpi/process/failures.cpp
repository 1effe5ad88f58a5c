#include "mpi/process/failures.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <numeric>

#include "api/profiling.hpp"
#include "base/guarded.hpp"
#include "base/text/printable.hpp"
#include "mpi/process/communicators.hpp"
#include "mpi/report/statistics.hpp"

namespace stretto::mpi {
namespace {

constexpr int kMostShown = 8, kFirstShown = 3;  // the first of more than kMostShown

std::string world_ranks(MPI_Comm comm) {
  int ranks = 0;
  PMPI_Comm_size(comm, &ranks);
  const int shown = ranks > kMostShown ? kFirstShown : ranks;
  std::array<int, kMostShown> here{}, there{};
  std::iota(here.begin(), here.end(), 0);
  MPI_Group group = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
  PMPI_Comm_group(comm, &group);
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  PMPI_Group_translate_ranks(group, shown, here.data(), world, there.data());
  PMPI_Group_free(&group);
  PMPI_Group_free(&world);
  std::string all;
  for (int r = 0; r < shown; ++r) all += fmt::format("{}{}", r > 0 ? ", " : "", there[static_cast<std::size_t>(r)]);
  return fmt::format("the world's ranks {}{} ({} ranks)", all, shown < ranks ? " ..." : "", ranks);
}

// The communicator's first of its kind, or the one that ended it.
bool is_news(Communicator* c, stretto_status s) noexcept {
  if (!c) return true;
  if (c->told_end) return false;
  const unsigned kind = 1u << s;
  const bool known = c->told & kind, over = c->comm && c->comm->is_broken();
  c->told |= kind;
  c->told_end = over;
  return !known || over;
}

void tell(const WrappedCall& call, stretto_status s) noexcept {
  const bool told = attempt([&] {
    std::fprintf(stderr, "stretto: %s on %s: %s (%s)\n", name_of(call).c_str(), described(call.comm).c_str(),
                 stretto_message(), stretto_status_name(s));
  });
  if (!told) std::fprintf(stderr, "stretto: %s (%s)\n", stretto_message(), stretto_status_name(s));
}

}  // namespace

std::string described(MPI_Comm comm) {
  if (const std::string name = name_of(comm); !name.empty()) return fmt::format("communicator '{}'", printable(name));
  const Communicator* const c = find_communicator(comm);
  return fmt::format("a communicator without a name, made by {}, of {}", c && c->made_by ? c->made_by : "the MPI",
                     world_ranks(comm));
}

int raise(const WrappedCall& call, stretto_status s) noexcept {
  if (is_news(find_communicator(call.comm), s)) tell(call, s);
  const int code = s == STRETTO_OUT_OF_MEMORY ? MPI_ERR_NO_MEM : s == STRETTO_INTERNAL ? MPI_ERR_INTERN : MPI_ERR_OTHER;
  PMPI_Comm_call_errhandler(call.comm, code);
  return code;
}

bool took_part(int code) noexcept {
  int kind = MPI_SUCCESS;
  if (code == MPI_SUCCESS || PMPI_Error_class(code, &kind) != MPI_SUCCESS) return true;
  constexpr std::array refused{MPI_ERR_BUFFER, MPI_ERR_COUNT, MPI_ERR_TYPE, MPI_ERR_ROOT, MPI_ERR_OP, MPI_ERR_ARG};
  return std::find(refused.begin(), refused.end(), kind) == refused.end();
}

}  // namespace stretto::mpi
