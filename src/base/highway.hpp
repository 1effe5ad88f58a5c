// What the files that Highway compiles once for each instruction set share.
#pragma once

#include <cstdint>
#include <cstring>

#include <hwy/targets.h>

namespace stretto {

// Calls `take` while HWY_DYNAMIC_DISPATCH finds the instruction set of that name, one of `compiled` (HWY_TARGETS of the calling file). Highway, which
// others in the process may use, is then put back as it was. False: the processor or the build has none of this name.
template <class Take>
bool on_target(const char* name, std::int64_t compiled, const Take& take) {
  for (std::int64_t left = hwy::SupportedTargets() & compiled; left != 0; left &= left - 1) {
    const std::int64_t target = left & -left;
    if (std::strcmp(hwy::TargetName(target), name) != 0) continue;
    hwy::GetChosenTarget().Update(target);
    take();
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    return true;
  }
  return false;
}

}  // namespace stretto
