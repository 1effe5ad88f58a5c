#pragma once

#include "device/plugin.hpp"

namespace stretto::device {

int combine_values(const Values& v);
int negate_values(const Values& v);
int divide_values(const Values& v);

}  // namespace stretto::device
