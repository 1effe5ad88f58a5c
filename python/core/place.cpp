#include "place.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include "errors.hpp"
#include "interrupt.hpp"
#include "parts.hpp"
#include "stretto/stretto_cuda_memory.h"

namespace nb = nanobind;

namespace stretto::python {

stretto_status Place::begin() const noexcept {
  stretto_status s = STRETTO_OK;
  for (void* other : after) {
    if (s == STRETTO_OK) s = stretto_cuda_wait(nullptr, other);
  }
  return s;
}

stretto_status Place::end() const noexcept { return finishes ? stretto_cuda_wait(nullptr, stream) : STRETTO_OK; }

Visit::Visit(const Place& place) noexcept {
  if (!place.on_device()) return;
  status_ = stretto_cuda_use_device(place.device, &before_);
  if (status_ != STRETTO_OK || before_ == place.device) before_ = -1;
}

Visit::~Visit() {
  if (before_ >= 0) static_cast<void>(stretto_cuda_use_device(before_, nullptr));
}

namespace {

using Address = std::uintptr_t;

void* at(Address address) { return reinterpret_cast<void*>(address); }

Place place_of(int device, Address stream, const std::vector<Address>& after, bool finishes) {
  Place place;
  place.device = device;
  place.stream = at(stream);
  for (const Address one : after) place.after.push_back(at(one));
  place.finishes = finishes;
  return place;
}

// (kind, device) of an address.
nb::tuple locate(Address address) {
  stretto_memory kind{};
  int device = -1;
  check(stretto_cuda_locate(at(address), &kind, &device));
  return nb::make_tuple(int(kind), device);
}

Address allocate(int device, std::size_t bytes) {
  Place place;
  place.device = device;
  const Visit visit(place);
  check(visit.status());
  void* p = nullptr;
  check(stretto_cuda_allocate(STRETTO_MEMORY_DEVICE, bytes, &p));
  return reinterpret_cast<Address>(p);
}

void release(int device, Address p) {
  Place place;
  place.device = device;
  stretto_status status;
  {
    const nb::gil_scoped_release others;
    const Visit visit(place);
    status = visit.status() == STRETTO_OK ? stretto_cuda_release(STRETTO_MEMORY_DEVICE, at(p)) : visit.status();
  }
  check(status);
}

void copy(const Place& place, Address to, Address from, std::size_t bytes) {
  check(interruptible(nullptr, [&] {
    const Visit visit(place);
    if (visit.status() != STRETTO_OK) return visit.status();
    const stretto_status s = stretto_cuda_copy(at(to), at(from), bytes, place.stream);
    return s == STRETTO_OK ? stretto_cuda_wait(nullptr, place.stream) : s;
  }));
}

// What an object with DLPack says of its memory: (address, shape, strides in elements, code, bits, device's type,
// device's number, owner).
nb::tuple of_dlpack(const nb::ndarray<nb::ro>& array) {
  nb::list shape, strides;
  for (std::size_t i = 0; i < array.ndim(); ++i) {
    shape.append(array.shape(i));
    strides.append(array.stride(i));
  }
  const nb::dlpack::dtype type = array.dtype();
  const auto owner = nb::capsule(new nb::ndarray<nb::ro>(array),
                                 [](void* p) noexcept { delete static_cast<nb::ndarray<nb::ro>*>(p); });
  return nb::make_tuple(reinterpret_cast<Address>(array.data()), nb::tuple(shape), nb::tuple(strides), int(type.code),
                        int(type.bits) * int(type.lanes), array.device_type(), array.device_id(), owner);
}

}  // namespace

void add_places(nb::module_& m) {
  nb::class_<Place>(m, "Place");
  m.def("place", &place_of, nb::arg("device"), nb::arg("stream"), nb::arg("after"), nb::arg("finishes"));
  m.def("cuda_available", [] { check(stretto_cuda_available()); });
  m.def("cuda_locate", &locate);
  m.def("cuda_allocate", &allocate, nb::arg("device"), nb::arg("bytes"));
  m.def("cuda_release", &release, nb::arg("device"), nb::arg("address"));
  m.def("cuda_copy", &copy, nb::arg("place"), nb::arg("to"), nb::arg("from_"), nb::arg("bytes"));
  m.def("of_dlpack", &of_dlpack);
}

}  // namespace stretto::python
