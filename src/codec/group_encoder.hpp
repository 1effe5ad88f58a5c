#pragma once

#include <cmath>
#include <concepts>
#include <cstring>

#include "codec/kernels.hpp"
#include "codec/marks.hpp"
#include "codec/numbers/values.hpp"
#include "codec/stream/group_places.hpp"
#include "codec/unit_grid.hpp"

namespace stretto::codec {

template <class T>
Grid<T> grid_for(Type t, double eps, double width, Coding orders) noexcept {
  Grid<T> grid;
  if constexpr (std::is_floating_point_v<T>) grid = make_grid<T>(t, eps, width);
  grid.orders = orders;
  return grid;
}

// Kernels multiply by the reciprocal of the width, which foreign streams may make infinite.
template <class T>
const Kernels& kernels_for(const Grid<T>& grid, const Kernels& chosen) noexcept {
  if constexpr (std::is_floating_point_v<T>)
    if (!std::isfinite(grid.r)) return *find_kernels(Isa::reference);
  return chosen;
}

template <class T>
struct GroupEncoder {
  Grid<T> grid;
  const Kernels& kernels;
  GroupEncoder(const Info& info, const Kernels& chosen, Coding orders = Coding::fixed) noexcept
      : grid(grid_for<T>(info.type, info.eps, info.width, orders)), kernels(kernels_for(grid, chosen)) {}

  std::size_t encode(const T* x, int m, std::uint8_t* out, std::size_t room, Tally* tally,
                     const Marks<T>& marks) const noexcept {
    T others[kGroup], kept = 0;
    switch (marks.survey(x, m, others, &kept, kernels)) {
      case KeptValues::none: return encode(x, m, out, room, tally);
      case KeptValues::several: break;
      case KeptValues::one: {
        const std::size_t words = encode(others, m, out, room, tally);
        if (words != kNoRoom) replace_placeholder(out, words, m, kept);
        return words;
      }
    }
    return compress_group(x, m, grid, out, room, tally, &marks);
  }

  std::size_t encode(const T* x, int m, std::uint8_t* out, std::size_t room, Tally* tally) const noexcept {
    const auto& k = value_kernels<T>(kernels);
    if (m == kGroup ? k.compress != nullptr : k.compress_part != nullptr) {
      const auto by_kernel = [&](std::uint8_t* to) {
        return m == kGroup ? k.compress(x, grid, to, tally) : k.compress_part(x, m, grid, to, tally);
      };
      if (room >= kKernelRoom) {
        const std::size_t words = by_kernel(out);
        if (words != kDeclined) return words;
      } else {
        std::uint8_t buffer[kKernelRoom];
        const std::size_t words = by_kernel(buffer);
        if (words != kDeclined) {
          if (4 * words > room) return kNoRoom;
          std::memcpy(out, buffer, 4 * words);
          return words;
        }
      }
    }
    if constexpr (std::is_floating_point_v<T>) {
      return compress_group(x, m, grid, out, room, tally);
    } else {
      if (m == kGroup && room >= kKernelRoom && !k.compress) {
        std::size_t words = encode_as<float>(x, 21, out, tally);
        if (words == kDeclined) words = encode_as<double>(x, 31, out, tally);
        if (words != kDeclined) return words;
      }
      return compress_group(x, m, grid.orders, out, room, tally);
    }
  }

 private:
  // By the kernel of floats. Declines magnitudes of more than `most` bits.
  template <class F>
  std::size_t encode_as(const T* x, int most, std::uint8_t* out, Tally* tally) const noexcept {
    const auto compress = value_kernels<F>(kernels).compress;
    if (!compress) return kDeclined;
    alignas(64) F v[kGroup];
    std::uint64_t bits = 0;
    for (int i = 0; i < kGroup; ++i) {
      const T code = element(x, i);
      bits |= magnitude(code);
      v[i] = static_cast<F>(code);
    }
    if (bits >> most) return kDeclined;
    Grid<F> unit = unit_grid<F>();
    unit.orders = grid.orders;
    return compress(v, unit, out, tally);
  }
};

template <class T>
struct MarksFor {
  MarksFor(Type, const Grid<T>&, const Options&) noexcept {}
  std::size_t encode(const GroupEncoder<T>& encoder, const T* x, int m, std::uint8_t* out, std::size_t room,
                     Tally* tally) const noexcept {
    return encoder.encode(x, m, out, room, tally);
  }
};
template <std::floating_point T>
struct MarksFor<T> {
  Marks<T> marks;
  MarksFor(Type t, const Grid<T>& grid, const Options& options) noexcept : marks(t, grid, options) {}
  std::size_t encode(const GroupEncoder<T>& encoder, const T* x, int m, std::uint8_t* out, std::size_t room,
                     Tally* tally) const noexcept {
    return marks.any() ? encoder.encode(x, m, out, room, tally, marks) : encoder.encode(x, m, out, room, tally);
  }
};

Status check_compress(Type t, const void* x, std::size_t count, double eps, const std::size_t* written,
                      const Options& options) noexcept;

}  // namespace stretto::codec
