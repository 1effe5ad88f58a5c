// A kernel's work at one place of a vector, also for emulated devices.
#pragma once

#include <concepts>

#include "device/plugin.hpp"
#include "payload/arithmetic/operations.hpp"

namespace stretto::device {

template <class O, class T>
struct CombineAt {
  const T* left;
  const T* right;
  T* out;
  constexpr void operator()(u64 i) const { out[i] = O::apply(left[i], right[i]); }
};

template <class T>
struct NegateAt {
  const T* in;
  T* out;
  constexpr void operator()(u64 i) const { out[i] = payload::negated(in[i]); }
};

template <class T>
struct DivideAt {
  const T* in;
  T* out;
  u32 divisor;
  constexpr void operator()(u64 i) const { out[i] = payload::divided(in[i], divisor); }
};

template <class T>
concept OnDevice = payload::Integer<T> || payload::Real<T> || payload::Half<T>;

constexpr int kNoKernel = 1;  // cudaErrorInvalidValue

// run(f) with f of a place; kNoKernel for unsupported types.
template <class Run>
int with_combination(const Values& v, Run run) {
  const auto type = static_cast<payload::Type>(v.type);
  return payload::with_op(static_cast<payload::Op>(v.operation), [&]<class O>() {
    return payload::with_type(type, [&]<class T>() {
      if constexpr (OnDevice<T> && payload::Defined<O, T>)
        return run(
            CombineAt<O, T>{static_cast<const T*>(v.left), static_cast<const T*>(v.right), static_cast<T*>(v.out)});
      else
        return kNoKernel;
    });
  });
}

template <class Run>
int with_negation(const Values& v, Run run) {
  return payload::with_type(static_cast<payload::Type>(v.type), [&]<class T>() {
    if constexpr (OnDevice<T>)
      return run(NegateAt<T>{static_cast<const T*>(v.left), static_cast<T*>(v.out)});
    else
      return kNoKernel;
  });
}

template <class Run>
int with_division(const Values& v, Run run) {
  return payload::with_type(static_cast<payload::Type>(v.type), [&]<class T>() {
    if constexpr (payload::Real<T> || payload::Half<T>)
      return run(DivideAt<T>{static_cast<const T*>(v.left), static_cast<T*>(v.out), v.divisor});
    else
      return kNoKernel;
  });
}

}  // namespace stretto::device
