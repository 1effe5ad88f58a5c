#include "calls/options.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "parts.hpp"
#include "select/part_eps.hpp"

namespace nb = nanobind;

namespace stretto::python {

Options::Options(stretto_bound bound_kind, double bound, stretto_scope scope, std::optional<std::string> schedule,
                 stretto_payload payload, std::size_t segment, double timeout, bool check, bool reproducible,
                 double ignore_above, std::size_t raw_below, stretto_coding coding,
                 const std::vector<std::pair<std::size_t, double>>& parts)
    : schedule_(std::move(schedule)) {
  options_.bound_kind = bound_kind;
  options_.bound = bound;
  options_.scope = scope;
  options_.payload = payload;
  options_.segment = segment;
  options_.timeout = timeout;
  options_.check = check;
  options_.reproducible = reproducible;
  options_.ignore_above = ignore_above;
  options_.raw_below = raw_below;
  options_.coding = coding;
  for (const auto& [count, its] : parts) parts_.push_back({count, its});
}

stretto_options Options::with(stretto_report* report) const noexcept {
  stretto_options o = options_;
  o.schedule = schedule_ ? schedule_->c_str() : nullptr;
  o.report = report;
  if (!parts_.empty()) o.parts = parts_.data();
  o.part_count = parts_.size();
  return o;
}

nb::tuple fields(const stretto_report& r) {
  return nb::make_tuple(r.algorithm, r.payload, r.contributions, r.raw_bytes, r.bytes_sent, r.ratio, r.eps,
                        r.promised_error, r.codec_seconds, r.agree_seconds, r.seconds, r.predicted_seconds,
                        r.expected_ratio, r.raw_below, r.reason, r.mpi_seconds, r.bytes_known != 0, r.ignored,
                        nb::make_tuple(r.range_lo, r.range_hi), nb::make_tuple(r.ignored_lo, r.ignored_hi), r.profile,
                        r.error_with_rounding, r.split, r.wait_seconds, r.device_carrier,
                        r.coding == STRETTO_CODING_AUTO    ? ""
                        : r.coding == STRETTO_CODING_DENSE ? "dense"
                                                           : "fixed");
}

void add_options(nb::module_& m) {
  m.def("eps_of_part", &select::eps_of_part, nb::arg("eps"), nb::arg("largest"), nb::arg("bound"));
  nb::class_<Options>(m, "Options")
      .def(nb::init<stretto_bound, double, stretto_scope, std::optional<std::string>, stretto_payload, std::size_t,
                    double, bool, bool, double, std::size_t, stretto_coding,
                    const std::vector<std::pair<std::size_t, double>>&>(),
           nb::arg("bound_kind"), nb::arg("bound"), nb::arg("scope"), nb::arg("schedule").none(), nb::arg("payload"),
           nb::arg("segment"), nb::arg("timeout"), nb::arg("check"), nb::arg("reproducible"), nb::arg("ignore_above"),
           nb::arg("raw_below"), nb::arg("coding"), nb::arg("parts"));
}

}  // namespace stretto::python
