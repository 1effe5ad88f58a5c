#include "modules/mpi/eager_limit.hpp"

#include <cstdint>

#include "modules/mpi/variables.hpp"

namespace stretto::modules {
namespace {

constexpr std::size_t header = 1024;
constexpr std::size_t worth_it = 32768;  // below, messages would be too many to beat a rendezvous

// Open MPI over TCP: component ob1 (unselected ones lose their variables) above tcp. Other MPIs over TCP (MPICH) use no
// rendezvous; those over RDMA fetch announced messages past any queue.
std::size_t query_eager_limit() noexcept {
  std::uint64_t selected = 0, limit = 0;
  const MpiVariables variables;
  const bool known = variables.read("pml_ob1_verbose", &selected) && variables.read("btl_tcp_eager_limit", &limit);
  return known && limit >= worth_it + header ? static_cast<std::size_t>(limit - header) : 0;
}

}  // namespace

std::size_t mpi_eager_limit() noexcept {
  static const std::size_t once = query_eager_limit();
  return once;
}

}  // namespace stretto::modules
