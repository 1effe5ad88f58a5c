#pragma once

#include <string_view>

#include "schedule/schedule.hpp"

namespace stretto::schedule {

Schedule tree_allreduce(const Request& request, int radix, std::string_view name);
Schedule tree_reduce(const Request& request, int radix, std::string_view name);
Schedule tree_broadcast(const Request& request, int radix, std::string_view name);
Schedule tree_gather(const Request& request, int radix, std::string_view name);
Schedule tree_scatter(const Request& request, int radix, std::string_view name);
Schedule tree_barrier(const Request& request, int radix, std::string_view name);

}  // namespace stretto::schedule
