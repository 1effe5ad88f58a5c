#include "stack/row.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include <fmt/core.h>

namespace stretto::stacking {
namespace {

constexpr std::array<const char*, 11> kHeader{"schedule",    "payload", "ms",    "vs MPI",
                                              "codec ms",    "MB sent", "ratio", "worst error",
                                              "error bound", "PSNR dB", "hash"};
using Cells = std::array<std::string, kHeader.size()>;

constexpr std::size_t kWords = 2;  // leading columns of text, set flush left

Cells cells(const Row& r, const Row& reference) {
  return {r.schedule,
          r.payload,
          fmt::format("{:.2f}", r.ms),
          &r == &reference ? std::string("1") : fmt::format("{:.2f}x", reference.ms / r.ms),
          r.codec_ms > 0 ? fmt::format("{:.2f}", r.codec_ms) : std::string("-"),
          r.sent > 0 ? fmt::format("{:.3f}", static_cast<double>(r.sent) * 1e-6) : std::string("-"),
          r.sent > 0 ? fmt::format("{:.1f}", r.compression) : std::string("-"),
          fmt::format("{:.2e}", r.worst),
          fmt::format("{:.2e}", r.promised),
          std::isinf(r.psnr) ? std::string("inf") : fmt::format("{:.1f}", r.psnr),
          fmt::format("{:016x}", r.hash)};
}

}  // namespace

std::string text_table(const std::vector<Row>& rows) {
  std::vector<Cells> body;
  std::array<std::size_t, kHeader.size()> width{};
  for (std::size_t i = 0; i < kHeader.size(); ++i) width[i] = std::string(kHeader[i]).size();
  for (const Row& r : rows) {
    body.push_back(cells(r, rows.front()));
    for (std::size_t i = 0; i < kHeader.size(); ++i) width[i] = std::max(width[i], body.back()[i].size());
  }
  std::string out;
  const auto line = [&](const auto& of) {
    for (std::size_t i = 0; i < kHeader.size(); ++i) {
      if (i > 0) out += "  ";
      out += i < kWords ? fmt::format("{:<{}}", of[i], width[i]) : fmt::format("{:>{}}", of[i], width[i]);
    }
    out += '\n';
  };
  line(kHeader);
  std::array<std::string, kHeader.size()> rule;
  for (std::size_t i = 0; i < kHeader.size(); ++i) rule[i] = std::string(width[i], '-');
  line(rule);
  for (const Cells& c : body) line(c);
  return out;
}

std::string html_table(const std::vector<Row>& rows) {
  std::string out = "<table>\n<tr>";
  for (const char* h : kHeader) out += fmt::format("<th>{}</th>", h);
  out += "</tr>\n";
  for (const Row& r : rows) {
    out += "<tr>";
    const Cells c = cells(r, rows.front());
    for (std::size_t i = 0; i < c.size(); ++i)
      out += fmt::format("<td{}>{}</td>", i < kWords ? " class=\"w\"" : "", c[i]);
    out += "</tr>\n";
  }
  return out + "</table>\n";
}

std::string notes(const Setting& s, const std::vector<Row>& rows) {
  std::string out;
  if (s.not_finite > 0)
    out +=
        fmt::format("At {} of {} values an image is not finite (NaN, infinite): these are in no range and no error.\n",
                    s.not_finite, s.values);
  const double bound = static_cast<double>(s.count) * s.eps;
  if (s.fills > 0)
    out += fmt::format(
        "At {} of {} values an image holds 1e15 or more, a fill value: these are in no range and not in the errors, "
        "and keep their promise like the rest.\n",
        s.fills, s.values);
  if (s.usual >= 0 && bound >= s.usual) {
    out += fmt::format(
        "The bound is larger than half of the values: a stack may be off by {:.3e}, and half of what is not 0 in it is "
        "of magnitude {:.3e} or less. ",
        bound, s.usual);
    // A small fraction of the range is as large as the values, which means that a few large values dominate it.
    out +=
        s.eps < 0.01 * s.range
            ? fmt::format("Few large values make such a range ({:.3e}); abs:X is a bound that does not depend on it.\n",
                          s.range)
            : fmt::format("Their range is {:.3e}: a smaller bound would keep them.\n", s.range);
  }
  std::uint64_t most = 0;
  for (const Row& r : rows) most = std::max(most, r.overflowed);
  if (most > 0)
    out += fmt::format(
        "In {} of {} values the images are finite but their sum, or a sum on the way, is more than {} holds: "
        "it is infinite, and not in the errors.\n",
        most, s.values, s.type);
  return out;
}

std::vector<std::string> violations(const std::vector<Row>& rows) {
  std::vector<std::string> out;
  const Row* first = nullptr;
  for (const Row& r : rows) {
    if (!(r.excess <= 0)) {
      out.push_back(fmt::format("{} {}: the error {:.6e} passes its promise by {:.3e}", r.schedule, r.payload, r.worst,
                                r.excess));
    }
    if (!r.ranks_agree) out.push_back(fmt::format("{} {}: the ranks hold different stacks", r.schedule, r.payload));
    if (!r.in_code_space) continue;
    if (first == nullptr) first = &r;
    if (r.hash != first->hash) {
      out.push_back(fmt::format("{} {} has hash {:016x}, but {} {} has {:016x}", r.schedule, r.payload, r.hash,
                                first->schedule, first->payload, first->hash));
    }
  }
  return out;
}

}  // namespace stretto::stacking
