#include "stack/page.hpp"

#include <fmt/core.h>

namespace stretto::stacking {
namespace {

constexpr const char* kStyle = R"(
body { font: 15px/1.5 system-ui, sans-serif; color: #20242c; max-width: 1200px; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.5em; } h2 { font-size: 1.15em; margin-top: 2em; }
table { border-collapse: collapse; font: 13px/1.4 ui-monospace, monospace; }
th, td { padding: .25em .7em; text-align: right; border-bottom: 1px solid #d8dbe2; white-space: nowrap; }
td.w { text-align: left; } figure { margin: 1em 0; } img { max-width: 100%; } .bad { color: #b2182b; } .scroll { overflow-x: auto; }
)";

// Promised and observed error, in a sentence for the row that uses most of its promise.
std::string closest(const std::vector<Row>& rows) {
  const Row* most = nullptr;
  for (const Row& r : rows) {
    if (!r.in_code_space || r.promised <= 0) continue;
    if (most == nullptr || r.worst / r.promised > most->worst / most->promised) most = &r;
  }
  if (most == nullptr) return {};
  return fmt::format(
      "The sums in code space promise an error of at most {:.4e} at every pixel; the worst seen is {:.4e}, "
      "{:.0f} % of it.",
      most->promised, most->worst, 100 * most->worst / most->promised);
}

}  // namespace

std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string html_page(const Setting& s, const std::vector<Row>& rows, const std::string& directory) {
  std::string out =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>stretto: stacking</title>\n<style>";
  out += kStyle;
  out += "</style></head><body>\n<h1>Stacking seismic images with a compressed allreduce</h1>\n";
  out += fmt::format(
      "<p>{} partial images of {} &times; {} {}, {}, held by {} ranks on {} host{} over {}. Each image is one "
      "contribution with "
      "error bound {} = {:.4e} (the range over all images is {:.4e}).</p>\n",
      s.count, s.height, s.width, escape(s.type), escape(s.images), s.ranks, s.hosts, s.hosts == 1 ? "" : "s",
      escape(s.mpi), escape(s.bound), s.eps, s.range);
  out += fmt::format("<figure><p>No picture yet: <code>stretto draw {}</code> draws it here.</p></figure>\n",
                     escape(directory));
  out += "<h2>What each way of summing cost and gave</h2>\n<div class=\"scroll\">\n" + html_table(rows) + "</div>\n";
  out += fmt::format(
      "<p>ms: median of {} repeats of the slowest rank, from the images in memory to the stack on every rank ({} "
      "values, {:.2f} MB); vs MPI: "
      "how many times faster than MPI_Allreduce in this run. MB sent: by the rank that sent most. ratio: raw bytes "
      "over bytes sent. worst error: "
      "against the sum in double precision; error bound: the largest error that the method allows, rounding included. "
      "hash: of the bytes "
      "of the stack; in code space (homomorphic, fused) it is the same for every schedule, order and number of "
      "ranks.</p>\n",
      s.repeats, s.values, static_cast<double>(s.values) * (s.type == "f64" ? 8e-6 : 4e-6));
  out += "<h2>Promised and seen</h2>\n<p>" + closest(rows) + "</p>\n";
  const std::vector<std::string> bad = violations(rows);
  if (bad.empty()) {
    out += "<p>All promises hold, every rank holds the same bytes, and all sums in code space have one hash.</p>\n";
  }
  if (const std::string note = notes(s, rows); !note.empty()) out += "<p>" + note + "</p>\n";
  for (const std::string& b : bad) out += fmt::format("<p class=\"bad\">{}</p>\n", escape(b));
  return out + "</body></html>\n";
}

}  // namespace stretto::stacking
