// The text of the profile that the library uses: rank 0 passes it to all ranks of each communicator.
#pragma once

#include <string>

#include "base/status.hpp"
#include "model/profile/profile.hpp"

namespace stretto::model {

// Same result as parse(). Remembers the latest valid text of the process, since communicators read equal texts. Threads
// may call it concurrently.
Status parse_cached(const std::string& json, Profile* profile) noexcept;

// The text of the profile that find() returns, as its file has it. Fails as find() does.
Status find_text(const std::string& host, const std::string& library, std::string* json) noexcept;

}  // namespace stretto::model
