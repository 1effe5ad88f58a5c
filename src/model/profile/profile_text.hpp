// The text of the profile that the library uses: rank 0 passes it to all ranks of each communicator.
#pragma once

#include <string>

#include "base/status.hpp"
#include "model/profile/profile.hpp"

namespace stretto::model {

// As parse(). Remembers the latest valid text of the process, since communicators read equal texts. Thread safe.
Status parse_cached(const std::string& json, Profile* profile) noexcept;

// The text of the profile that find() returns. Fails as find() does.
Status find_text(const std::string& host, const std::string& library, std::string* json) noexcept;

}  // namespace stretto::model
