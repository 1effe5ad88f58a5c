// The report at the end of a program.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "mpi/process/statistics.hpp"
#include "mpi/settings/settings.hpp"

namespace stretto::mpi {

// Brings the ranks' statistics together and has rank 0 print a table on standard error, or write JSON to the file of the settings; the table too where that
// cannot be written. Collective over MPI_COMM_WORLD. Where another rank than 0 has no memory for its part, it is left out. Throws std::bad_alloc
// when all messages have come.
Status report(const Statistics& own, const Settings& settings);

// By what is there now; nothing is made.
bool can_be_written(const std::string& file);

// Of all ranks: sums, but for `seconds` and the errors (the largest) and `saved` (the mean).
struct Row {
  Way way;
  Tally tally;
  Timeline timeline;  // of one length of stretches in all rows
};

// Ranks of each host, by its name.
using Hosts = std::map<std::string, int>;

// `bounded`: a bound was given for all sums.
std::string table(const std::vector<Row>& rows, int ranks, const Hosts& hosts, bool bounded);
std::string to_json(const std::vector<Row>& rows, int ranks, const Hosts& hosts);

}  // namespace stretto::mpi
