// The result as a self-contained HTML page, once its picture is drawn into it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stack/row.hpp"

namespace stretto::stacking {

// The page has one element <figure>, whose content `stretto draw DIRECTORY` replaces by the picture. Until then it
// names that command, with the page's `directory`.
std::string html_page(const Setting& setting, const std::vector<Row>& rows, const std::string& directory);

// &, <, > and quotes as entities.
std::string escape(std::string_view text);

}  // namespace stretto::stacking
