// The parts of the module. Each adds its names to the module.
#pragma once

#include <nanobind/nanobind.h>

namespace stretto::python {

void add_streams(nanobind::module_& m);
void add_places(nanobind::module_& m);
void add_device_streams(nanobind::module_& m);
void add_communicators(nanobind::module_& m);
void add_options(nanobind::module_& m);
void add_requests(nanobind::module_& m);
void add_addressed(nanobind::module_& m);
void add_feedback(nanobind::module_& m);

}  // namespace stretto::python
