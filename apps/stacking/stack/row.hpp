// One line of the result: a schedule with a payload, what it cost and what it gave.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stretto::stacking {

struct Row {
  std::string schedule;
  std::string payload;
  double ms = 0;        // median over the repeats of the slowest rank, from images in memory to the stack on every rank
  double codec_ms = 0;  // of which in the codec: the median of the busiest rank's
  std::uint64_t sent = 0;  // bytes sent, most of any rank; 0 when not known
  double compression = 1;  // raw bytes over bytes sent, over all ranks
  double worst = 0;        // error seen
  double promised = 0;     // error promised
  double excess = 0;       // > 0: the promise is broken, by this much
  double psnr = 0;
  std::uint64_t overflowed = 0;  // values whose sum the type cannot hold, or whose partial sums it could not
  std::uint64_t hash = 0;        // of the bytes of the stack
  bool ranks_agree = true;       // every rank holds the same bytes
  bool in_code_space = false;    // summed as codes: the hash must be that of all other such rows
};

// What a run was, for headings.
struct Setting {
  std::string images;       // where they come from, in words
  std::string bound;        // as asked for
  std::string mpi;          // name and version of the MPI
  std::string flavour;      // its name alone
  std::uint64_t count = 0;  // images
  std::uint64_t height = 0, width = 0;
  std::uint64_t values = 0;  // in a stack, tiling included
  std::string type;
  double eps = 0;                // for each image
  double range = 0;              // max - min over all images but these fill values
  std::uint64_t not_finite = 0;  // values at which some image is not
  std::uint64_t fills = 0;       // values at which some image has a fill value
  double usual = -1;  // half of the other sums that are not 0 are of no larger magnitude; negative: not known
  int ranks = 0;
  int hosts = 0;  // groups of ranks that share memory
  int repeats = 0;
};

// The table as text; the first row is the reference of the times.
std::string text_table(const std::vector<Row>& rows);

// The same as an HTML table.
std::string html_table(const std::vector<Row>& rows);

// A line each, empty if none: how many values are not finite or fill values; how many sums are infinite because the
// type cannot hold them; whether the bound is larger than half of the sums.
std::string notes(const Setting& setting, const std::vector<Row>& rows);

// What does not hold, one sentence each: a broken promise, ranks that differ, hashes that differ among rows summed in code space.
std::vector<std::string> violations(const std::vector<Row>& rows);

}  // namespace stretto::stacking
