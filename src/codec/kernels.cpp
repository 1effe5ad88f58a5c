#include "codec/kernels.hpp"

namespace stretto::codec {

#ifdef STRETTO_AVX512
const Kernels* avx512_kernels() noexcept;  // null if the processor lacks it
#endif
#ifdef STRETTO_PORTABLE
const Kernels* portable_kernels() noexcept;
#endif

const Kernels* find_kernels(Isa isa) noexcept {
  static const Kernels kReference{};
  switch (isa) {
    case Isa::reference: return &kReference;
    case Isa::avx512:
#ifdef STRETTO_AVX512
      return avx512_kernels();
#else
      return nullptr;
#endif
    case Isa::portable:
#ifdef STRETTO_PORTABLE
      return portable_kernels();
#else
      return nullptr;
#endif
    case Isa::best: return find_kernels(best_isa());
  }
  return nullptr;
}

Isa best_isa() noexcept {
  for (const Isa candidate : {Isa::avx512, Isa::portable})
    if (find_kernels(candidate) != nullptr) return candidate;
  return Isa::reference;
}

const char* name(Coding coding) noexcept {
  switch (coding) {
    case Coding::automatic: return "automatic";
    case Coding::fixed: return "fixed";
    case Coding::dense: return "dense";
  }
  return "no coding";
}

const char* name(Isa isa) noexcept {
  switch (isa) {
    case Isa::best: return "best";
    case Isa::reference: return "reference";
    case Isa::portable: return "portable";
    case Isa::avx512: return "avx512";
  }
  return "no instruction set";
}

}  // namespace stretto::codec
