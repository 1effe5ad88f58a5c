#include "carrier/group.hpp"

#include <algorithm>

namespace stretto::carrier {

GroupCarrier::GroupCarrier(Carrier& whole, std::span<const std::int32_t> members) noexcept
    : whole_(whole), members_(members) {
  rank_ = static_cast<int>(std::find(members.begin(), members.end(), whole.rank()) - members.begin());
}

}  // namespace stretto::carrier
