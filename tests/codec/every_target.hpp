// Every instruction set that a test can run here, the portable kernels' each by itself.
#pragma once

#include "codec/portable/portable.hpp"
#include "portable_targets.hpp"
#include "support.hpp"

namespace stretto::codec {

// f(options, name) for each of them but the reference, once.
template <class F>
void on_every_instruction_set(F f) {
  for (const Isa isa : isas()) {
    if (isa == Isa::reference || isa == Isa::best) continue;
    f(with(isa), name(isa));
    if (isa != Isa::portable) continue;
    const std::string done = portable_target();
    for (const char* target : kPortableTargets)
      if (target != done && choose_portable_target(target)) f(with(isa), target);
    choose_portable_target(nullptr);
  }
}

}  // namespace stretto::codec
