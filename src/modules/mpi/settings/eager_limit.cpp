#include "modules/mpi/settings/eager_limit.hpp"

#include <cstdint>

#include "modules/mpi/settings/variables.hpp"

namespace stretto::modules {
namespace {

constexpr std::size_t kHeader = 1024;
constexpr std::size_t kLeastEagerLimit = 32768;  // below, messages would be too many

}  // namespace

// Open MPI over TCP: component ob1 (unselected components lose their variables) above tcp. Other MPIs over TCP (MPICH)
// use no rendezvous; those over RDMA fetch announced messages past any queue.
std::size_t mpi_eager_limit() noexcept {
  const MpiVariables& variables = mpi_variables();
  const std::uint64_t limit = variables.pml_ob1_verbose ? variables.btl_tcp_eager_limit.value_or(0) : 0;
  return limit >= kLeastEagerLimit + kHeader ? static_cast<std::size_t>(limit - kHeader) : 0;
}

}  // namespace stretto::modules
