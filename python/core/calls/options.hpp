// Options and report of a collective, kept while C borrows them.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stretto/stretto.h"

namespace stretto::python {

class Options {
 public:
  Options(stretto_bound bound_kind, double bound, stretto_scope scope, std::optional<std::string> schedule,
          stretto_payload payload, std::size_t segment, double timeout, bool check, bool reproducible,
          double ignore_above, std::size_t raw_below, stretto_coding coding,
          const std::vector<std::pair<std::size_t, double>>& parts);

  // Options for a call that fills `report`; valid as long as this object.
  stretto_options with(stretto_report* report) const noexcept;

  double timeout() const noexcept { return options_.timeout; }

 private:
  stretto_options options_ = STRETTO_OPTIONS_INIT;
  std::optional<std::string> schedule_;
  std::vector<stretto_part> parts_;
};

// The fields of a report in the order of stretto_report.
nanobind::tuple fields(const stretto_report& report);

}  // namespace stretto::python
