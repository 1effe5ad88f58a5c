// stretto-doctor without an MPI: the ranks meet in a store and communicate over UCX, like a program of stretto_store.h.
// A single rank needs neither.
#include <algorithm>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include <unistd.h>

#include <fmt/core.h>

#include "api/creation/environment.hpp"
#include "api/creation/modules.hpp"
#include "examine.hpp"

namespace {

using namespace stretto::doctor;
namespace node = stretto::node;
using stretto::Status;

constexpr double kLimit = 60;  // seconds for all ranks to arrive
constexpr std::size_t kNameSize = 256;

class SingleRankExchange final : public node::Exchange {
 public:
  int rank() const noexcept override { return 0; }
  int size() const noexcept override { return 1; }
  Status allgather(const void* mine, std::size_t bytes, void* all) noexcept override {
    std::memcpy(all, mine, bytes);
    return Status::ok;
  }
};

// *transport: the transport made; null: none.
std::unique_ptr<node::Exchange> join(const std::string& name, int rank, int size, std::string* over,
                                     stretto::backend::Transport** transport) {
  *transport = nullptr;
  if (size == 1) return std::make_unique<SingleRankExchange>();
  const stretto::backend::Module* module = nullptr;
  std::unique_ptr<stretto::carrier::Store> store;
  std::unique_ptr<stretto::backend::Transport> made;
  check(stretto::api::find_module("ucx", &module));
  check(stretto::api::open_job_store(&store));
  check(module->transport_in(*store, {name, rank, size, kLimit, ""}, &made));
  made->created({});
  *over = made->name();
  *transport = made.get();
  return made;
}

// Ranks whose hosts have equal names are on one host, as in communicators.
Job meet(int rank, int ranks) {
  Job job{nullptr, nullptr, "no MPI", {}};
  stretto::backend::Transport *all = nullptr, *within_host = nullptr;
  job.all = join("doctor", rank, ranks, &job.over, &all);
  job.by_transport = [all] { return all ? device_messages_of(*all) : std::string(); };
  std::string own(kNameSize, '\0');
  gethostname(own.data(), own.size() - 1);
  std::vector<char> names(static_cast<std::size_t>(ranks) * kNameSize);
  check(job.all->allgather(own.data(), kNameSize, names.data()));
  std::vector<int> here;
  for (int r = 0; r < ranks; ++r)
    if (std::memcmp(names.data() + static_cast<std::size_t>(r) * kNameSize, own.data(), kNameSize) == 0)
      here.push_back(r);
  const auto within = static_cast<int>(std::find(here.begin(), here.end(), rank) - here.begin());
  job.here =
      join(fmt::format("doctor-{}", here.front()), within, static_cast<int>(here.size()), &job.over, &within_host);
  return job;
}

}  // namespace

int main(int argc, char** argv) {
  int rank = 0, ranks = 1;
  try {
    check(stretto::api::read_rank(&rank, &ranks));
    return examine(argc, argv, rank, [&] { return meet(rank, ranks); });
  } catch (const std::exception& e) {
    char host[kNameSize] = {};
    gethostname(host, sizeof host - 1);
    fmt::print(stderr, "stretto-doctor: rank {} on {}: {}\n", rank, host, e.what());
    return 1;
  }
}
