// Rank 0's output files: the stack, its error, the input of `stretto draw`, the page, rows of JSON.
#pragma once

#include <string>

#include "job/images.hpp"
#include "job/options.hpp"
#include "job/stack.hpp"

namespace stretto::stacking {

// Creates options.out, and throws Problem unless write_outputs() can write all its files.
void check_outputs(const Options& options);

// Writes everything into options.out, and rows to options.json if named. Returns the files, one per line. Removes old
// pictures there.
std::string write_outputs(const Options& options, const Images& images, const Result& result);

// The heading over the table: images, method, bound.
std::string heading(const Setting& setting);

// A note for readers of the times; may be empty.
std::string note(const Setting& setting);

}  // namespace stretto::stacking
