#pragma once

#include <string>

#include "base/status.hpp"
#include "model/profile/profile.hpp"

namespace stretto::model {

// As parse(), and remembers the process' latest valid text: rank 0 passes one text to all communicators. Thread safe.
Status parse_cached(const std::string& json, Profile* profile) noexcept;

Status find_text(const std::string& host, const std::string& library, std::string* json) noexcept;

}  // namespace stretto::model
