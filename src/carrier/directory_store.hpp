#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "carrier/store.hpp"

namespace stretto::carrier {

// Opens file:///DIRECTORY, with a file per key, and makes it if missing. Values are written aside and renamed, so reads
// are atomic. Files are readable by this user only. invalid_argument: no such URL, or unusable directory.
Status open_directory_store(std::string_view url, std::unique_ptr<Store>* store) noexcept;

}  // namespace stretto::carrier
