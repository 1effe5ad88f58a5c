#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "mpi/report/statistics.hpp"
#include "mpi/settings/settings.hpp"

namespace stretto::mpi {

// Rank 0 prints a table on standard error, or writes JSON to the settings' file (the table if that fails). Leaves out
// ranks without memory. Throws only after all messages have arrived. Collective over MPI_COMM_WORLD.
Status report(const Statistics& own, const Settings& settings);

bool can_be_written(const std::string& file);

// Over all ranks: sums, except the maximum of `seconds` and errors, and the mean of `saved`.
struct Row {
  RowKey key;
  Tally tally;
  Timeline timeline;
};

using Hosts = std::map<std::string, int>;

std::string table(const std::vector<Row>& rows, int ranks, const Hosts& hosts, bool bounded);
std::string to_json(const std::vector<Row>& rows, int ranks, const Hosts& hosts);

}  // namespace stretto::mpi
