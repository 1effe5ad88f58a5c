// Rules of the profiling library, read as it reads them.
#pragma once

#include <string>

namespace stretto::app {

// "3 rules", and unless `bounded` the first line that asks for streams without a bound. Throws std::runtime_error: the
// file cannot be read, or "FILE, line 2: 'spiral' is no schedule".
std::string rules_text(const std::string& file, bool bounded);

}  // namespace stretto::app
