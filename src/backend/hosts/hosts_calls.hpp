#pragma once

#include "backend/hosts/hosts.hpp"

namespace stretto::backend {

// allreduce, reduce, bcast and barrier.
Status run_vector(Hosts& hosts, const Call& call, const Decision& decision, engine::Report* ran);

// reduce_scatter and reduce_scatter_block.
Status run_reduce_scatter(Hosts& hosts, const Call& call, const Decision& decision, engine::Report* ran);

}  // namespace stretto::backend
