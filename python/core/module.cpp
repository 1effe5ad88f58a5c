// stretto._core: the C interface for Python, with arrays as buffers and numbers as in C. The package
// (python/stretto/api) adds shapes, NumPy types and option names.
#include <nanobind/nanobind.h>

#include "interrupt.hpp"
#include "parts.hpp"
#include "stretto/stretto.h"

namespace nb = nanobind;

NB_MODULE(_core, m) {
  nb::set_leak_warnings(false);  // abandoned calls leak their memory on purpose
  m.doc() = "The C interface of stretto.";
  m.def(
      "end_program", [] { stretto::python::ending = std::this_thread::get_id(); },
      "From now on other threads do not return from the library.");
  m.def("version", &stretto_version, "The version of libstretto.so.");
  m.def(
      "wait_in_background", [](bool is) { static_cast<void>(stretto_wait_in_background(is)); },
      "Whether this thread's waits for messages of other hosts sleep at once.");

  nb::enum_<stretto_type>(m, "Type")
      .value("f32", STRETTO_F32)
      .value("f64", STRETTO_F64)
      .value("i32", STRETTO_I32)
      .value("i64", STRETTO_I64)
      .value("f16", STRETTO_F16)
      .value("bf16", STRETTO_BF16)
      .value("i8", STRETTO_I8)
      .value("u8", STRETTO_U8)
      .value("i16", STRETTO_I16)
      .value("u16", STRETTO_U16)
      .value("u32", STRETTO_U32)
      .value("u64", STRETTO_U64);
  nb::enum_<stretto_op>(m, "Op")
      .value("sum", STRETTO_SUM)
      .value("prod", STRETTO_PROD)
      .value("min", STRETTO_MIN)
      .value("max", STRETTO_MAX)
      .value("land", STRETTO_LAND)
      .value("lor", STRETTO_LOR)
      .value("lxor", STRETTO_LXOR)
      .value("band", STRETTO_BAND)
      .value("bor", STRETTO_BOR)
      .value("bxor", STRETTO_BXOR)
      .value("mean", STRETTO_MEAN)
      .value("difference", STRETTO_DIFFERENCE);
  nb::enum_<stretto_bound>(m, "Bound")
      .value("none", STRETTO_BOUND_NONE)
      .value("absolute", STRETTO_BOUND_ABSOLUTE)
      .value("relative", STRETTO_BOUND_RELATIVE);
  nb::enum_<stretto_scope>(m, "Scope")
      .value("contribution", STRETTO_SCOPE_CONTRIBUTION)
      .value("result", STRETTO_SCOPE_RESULT)
      .value("result_statistical_95", STRETTO_SCOPE_RESULT_STATISTICAL_95)
      .value("result_statistical_95_uniform", STRETTO_SCOPE_RESULT_STATISTICAL_95_UNIFORM);
  nb::enum_<stretto_payload> payloads(m, "Payload");
  for (int i = STRETTO_PAYLOAD_AUTO; const char* name = stretto_payload_name(static_cast<stretto_payload>(i)); ++i)
    payloads.value(name, static_cast<stretto_payload>(i));
  nb::enum_<stretto_coding>(m, "Coding")
      .value("auto", STRETTO_CODING_AUTO)
      .value("fixed", STRETTO_CODING_FIXED)
      .value("dense", STRETTO_CODING_DENSE);

  stretto::python::add_streams(m);
  stretto::python::add_places(m);
  stretto::python::add_device_streams(m);
  stretto::python::add_options(m);
  stretto::python::add_communicators(m);
  stretto::python::add_requests(m);
  stretto::python::add_addressed(m);
  stretto::python::add_feedback(m);
}
