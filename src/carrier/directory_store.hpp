#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "carrier/store.hpp"

namespace stretto::carrier {

// file:///DIRECTORY, made if missing, with a file per key, for this user alone. Values are written aside and renamed,
// so reads are atomic. invalid_argument: no such URL, or unusable; the message names STRETTO_STORE.
Status open_directory_store(std::string_view url, std::unique_ptr<Store>* store) noexcept;

}  // namespace stretto::carrier
