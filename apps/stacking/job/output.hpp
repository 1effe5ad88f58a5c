// What rank 0 leaves behind: the stack, its error, what `stretto draw` makes a picture of, the page, rows of JSON.
#pragma once

#include <string>

#include "job/images.hpp"
#include "job/options.hpp"
#include "job/stack.hpp"

namespace stretto::stacking {

// Makes options.out, and throws Problem unless everything that write_outputs() writes can be.
void check_outputs(const Options& options);

// Writes everything into options.out, and rows to options.json when it is named. Returns the files, one a line. Removes
// the pictures of former data there.
std::string write_outputs(const Options& options, const Images& images, const Result& result);

// The heading over the table: what was stacked, how, with which bound.
std::string heading(const Setting& setting);

// What the reader of the times should know; may be empty.
std::string note(const Setting& setting);

}  // namespace stretto::stacking
