// What the elements of a dataset are: the filter is told at the dataset's creation, and keeps it among its settings.
#pragma once

#include <optional>

#include "hdf5.hpp"
#include "stretto/stretto.h"

namespace stretto::hdf5 {

// Elements as values of one type of stretto; complex numbers are two each.
struct Elements {
  stretto_type type;
  unsigned values;  // in an element
};

// Nothing where the type has no streams; `why` then says so.
std::optional<Elements> elements_of(const Library& hdf5, Id type, const char** why) noexcept;

}  // namespace stretto::hdf5
