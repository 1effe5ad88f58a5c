// The report at the end of a program.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "mpi/process/statistics.hpp"
#include "mpi/settings/settings.hpp"

namespace stretto::mpi {

// Gathers the ranks' statistics. Rank 0 prints a table on standard error, or writes JSON to the settings' file (and the
// table if that fails). Collective over MPI_COMM_WORLD. Leaves out other ranks that have no memory for their part.
// Throws std::bad_alloc only after all messages have arrived.
Status report(const Statistics& own, const Settings& settings);

// True if the file can be written as things are; creates nothing.
bool can_be_written(const std::string& file);

// Totals over all ranks: sums, but the maximum of `seconds` and of the errors, and the mean of `saved`.
struct Row {
  Way way;
  Tally tally;
  Timeline timeline;  // with equal lengths of stretches in all rows
};

// Number of ranks by host name.
using Hosts = std::map<std::string, int>;

// `bounded`: a bound applies to all sums.
std::string table(const std::vector<Row>& rows, int ranks, const Hosts& hosts, bool bounded);
std::string to_json(const std::vector<Row>& rows, int ranks, const Hosts& hosts);

}  // namespace stretto::mpi
