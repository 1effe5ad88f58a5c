#include "errors.hpp"

#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace stretto::python {

void raise(stretto_status status, const std::string& message) {
  const nb::object error = nb::module_::import_("stretto.errors").attr("of_status")(int(status), message.c_str());
  PyErr_SetObject(error.type().ptr(), error.ptr());
  throw nb::python_error();
}

void check(stretto_status status) {
  if (status != STRETTO_OK) raise(status, stretto_message());
}

}  // namespace stretto::python
