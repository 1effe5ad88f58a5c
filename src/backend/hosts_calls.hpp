// Calls of several hosts, in pieces (nodes.hpp).
#pragma once

#include "backend/hosts.hpp"

namespace stretto::backend {

// allreduce, reduce, bcast and barrier. Throws std::bad_alloc.
Status run_vector(Hosts& hosts, const Call& call, const Decision& decision, engine::Report* ran);

// An allreduce, reduce or bcast of some values that hosts_short.cpp serves, of any length.
bool is_short(const Shape& shape) noexcept;

// For a short call where Hosts::has_native. Null: there is no memory.
std::unique_ptr<PreparedCall> prepare_short(Hosts& hosts, const Shape& shape) noexcept;

// reduce_scatter and reduce_scatter_block. Throws std::bad_alloc.
Status run_reduce_scatter(Hosts& hosts, const Call& call, const Decision& decision, engine::Report* ran);

}  // namespace stretto::backend
