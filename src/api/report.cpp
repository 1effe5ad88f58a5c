#include "api/report.hpp"

#include <algorithm>
#include <cstring>

namespace stretto::api {

void set_name(char (&to)[STRETTO_NAME_MAX], const char* name) noexcept {
  const std::size_t n = std::min(std::strlen(name), std::size_t{STRETTO_NAME_MAX} - 1);
  std::memcpy(to, name, n);
  to[n] = 0;
}

void deliver(const stretto_report& report, stretto_report* out) noexcept {
  if (!out) return;
  stretto_report r = report;
  const std::size_t size = out->size;
  r.size = size;
  std::memcpy(out, &r, std::min(size, sizeof r));
}

}  // namespace stretto::api
