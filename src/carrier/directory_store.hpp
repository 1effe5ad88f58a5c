// A store in a directory that all ranks see: a file for each key.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "carrier/store.hpp"

namespace stretto::carrier {

// Opens the store of file:///DIRECTORY, which is made if it is not there. Values are written aside and renamed, so a reader sees all of
// one or none. Files are readable by this user alone. invalid_argument: no such URL, or no directory can be used there.
Status open_directory_store(std::string_view url, std::unique_ptr<Store>* store) noexcept;

}  // namespace stretto::carrier
