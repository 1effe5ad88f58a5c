// The result as one HTML page that needs no other file.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "stack/row.hpp"

namespace stretto::stacking {

// `png`: the bytes of the figure, embedded. `figure_is`: one sentence under it.
std::string html_page(const Setting& setting, const std::vector<Row>& rows, const std::vector<std::byte>& png,
                      const std::string& figure_is);

std::string base64(const std::vector<std::byte>& bytes);

// &, <, > and quotes as entities.
std::string escape(std::string_view text);

}  // namespace stretto::stacking
