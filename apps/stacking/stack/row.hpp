// One line of the result: a schedule with a payload, its cost and its accuracy.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stretto::stacking {

struct Row {
  std::string schedule;
  std::string payload;
  // median over the repeats of the slowest rank's time, from images in memory to the stack on every rank
  double ms = 0;
  double codec_ms = 0;     // part of it in the codec: the median of the busiest rank's
  std::uint64_t sent = 0;  // bytes sent, largest of all ranks; 0: unknown
  double compression = 1;  // raw bytes over bytes sent, over all ranks
  double worst = 0;        // observed error
  double promised = 0;     // error promised
  double excess = 0;       // > 0: the error exceeds its promise by this much
  double psnr = 0;
  std::uint64_t overflowed = 0;  // values whose sum, or partial sums, exceed the type's range
  std::uint64_t hash = 0;        // of the bytes of the stack
  bool ranks_agree = true;       // every rank holds the same bytes
  bool in_code_space = false;    // summed as codes: all such rows must have equal hashes
};

// A run's settings, for headings.
struct Setting {
  std::string images;       // description of their source
  std::string bound;        // as requested
  std::string mpi;          // name and version of the MPI
  std::string flavour;      // name alone
  std::uint64_t count = 0;  // images
  std::uint64_t height = 0, width = 0;
  std::uint64_t values = 0;  // per stack, including tiling
  std::string type;
  double eps = 0;                // per image
  double range = 0;              // max - min over all images without fill values
  std::uint64_t not_finite = 0;  // values that are not finite in some image
  std::uint64_t fills = 0;       // values at which some image has a fill value
  double usual = -1;             // median magnitude of the other non-zero sums; negative: unknown
  int ranks = 0;
  int hosts = 0;  // groups of ranks that share memory
  int repeats = 0;
};

// The table as text; the first row is the reference of the times.
std::string text_table(const std::vector<Row>& rows);

// The table as HTML.
std::string html_table(const std::vector<Row>& rows);

// A line each, empty if none: numbers of values that are not finite or fill values, of sums that overflow the type, and
// a bound larger than half of the sums.
std::string notes(const Setting& setting, const std::vector<Row>& rows);

// Violations, one sentence each: a broken promise, ranks that differ, hashes that differ among rows summed in code
// space.
std::vector<std::string> violations(const std::vector<Row>& rows);

}  // namespace stretto::stacking
