#include "job/output.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <system_error>

#include <fmt/core.h>

#include "bench/rows.hpp"
#include "picture/figure.hpp"
#include "picture/page.hpp"

namespace stretto::stacking {
namespace {

std::string stack_file(const Options& o) { return fmt::format("{}/stack.{}", o.out, type_name(o.type)); }

// Throws unless the file can be opened to be written; leaves it as it is, absent if it is.
void check_writable(const std::string& path) {
  const bool there = std::filesystem::exists(path);
  std::FILE* file = std::fopen(path.c_str(), "ab");
  if (file == nullptr) throw Problem(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
  std::fclose(file);
  if (!there) std::filesystem::remove(path);
}

// The first image of a stack as floats; a tiled stack repeats it.
std::vector<float> as_floats(const Images& im, const std::vector<std::byte>& stack) {
  std::vector<float> out(im.shape.pixels());
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (im.type == STRETTO_F64) {
      double v = 0;
      std::memcpy(&v, stack.data() + i * sizeof v, sizeof v);
      out[i] = static_cast<float>(v);
    } else {
      std::memcpy(&out[i], stack.data() + i * sizeof(float), sizeof(float));
    }
  }
  return out;
}

// Fill values, in the picture, are as values that are not finite.
std::vector<float> without_fills(std::vector<float> stack, const Reference& reference) {
  for (std::size_t i = 0; i < stack.size(); ++i) {
    if (is_fill(reference, i)) stack[i] = std::numeric_limits<float>::quiet_NaN();
  }
  return stack;
}

double positive(double v) { return v > 0 ? v : 1; }

std::vector<std::byte> picture(const Images& im, const Result& r) {
  Panel stack{.title = fmt::format("stack of {} images, {} {}", im.shape.n, r.shown.schedule, r.shown.payload),
              .unit = "amplitude",
              .values = without_fills(as_floats(im, r.stack), r.reference),
              .limit = 1,
              .scale = grey};
  stack.limit = positive(quantile_of_magnitude(stack.values, 0.99));
  std::vector<float> errors = error_map(im.type, r.stack.data(), r.reference);
  errors.resize(im.shape.pixels());
  const Panel error{.title = fmt::format("its error: worst {:.3e}, promised {:.3e}", r.shown.worst, r.shown.promised),
                    .unit = "error",
                    .values = std::move(errors),
                    .limit = positive(r.shown.worst),
                    .scale = blue_red};
  Axes axes;
  if (im.cell_km > 0) axes = {.step = im.cell_km, .horizontal = "distance, km", .vertical = "depth, km"};
  return draw({stack, error}, static_cast<int>(im.shape.h), static_cast<int>(im.shape.w), axes).png();
}

void write_rows(const std::string& path, const Result& r) {
  bench::Writer writer(path);
  for (const Row& row : r.rows) {
    bench::Row line{.bench = "stacking",
                    .subject = row.schedule + " " + row.payload,
                    .metric = "ms",
                    .value = row.ms,
                    .unit = "ms",
                    .better = bench::Better::smaller};
    if (&row != &r.rows.front()) line.peer = bench::Peer{"MPI_Allreduce " + r.setting.flavour, r.rows.front().ms};
    line.fields = {
        {"ranks", r.setting.ranks},   {"hosts", r.setting.hosts},       {"images", r.setting.count},
        {"values", r.setting.values}, {"type", r.setting.type},         {"eps", r.setting.eps},
        {"bytes_sent", row.sent},     {"compression", row.compression}, {"codec_ms", row.codec_ms},
        {"worst_error", row.worst},   {"promised_error", row.promised}, {"hash", fmt::format("{:016x}", row.hash)}};
    if (row.overflowed > 0) line.fields["overflowed"] = row.overflowed;
    line.fields["psnr_db"] =
        std::isfinite(row.psnr) ? nlohmann::ordered_json(row.psnr) : nlohmann::ordered_json(nullptr);
    writer.write(line);
  }
}

}  // namespace

std::string heading(const Setting& s) {
  return fmt::format(
      "{} images of {} x {} {}, {}\n{} ranks on {} host{}, {}; {:.2f} MB a stack; each image within {} = {:.4e}; "
      "median of {}\n",
      s.count, s.height, s.width, s.type, s.images, s.ranks, s.hosts, s.hosts == 1 ? "" : "s", s.mpi,
      static_cast<double>(s.values) * (s.type == "f64" ? 8e-6 : 4e-6), s.bound, s.eps, s.repeats);
}

std::string note(const Setting& s) {
  if (s.hosts > 1 || s.ranks == 1) return {};
  return "The ranks share this machine's memory, which no message leaves: what compression saves shows on a network "
         "(make bench-hosts).\n";
}

void check_outputs(const Options& o) {
  std::error_code error;
  std::filesystem::create_directories(o.out, error);
  if (error) throw Problem(fmt::format("cannot make the directory \"{}\": {}", o.out, error.message()));
  for (const std::string& file : {stack_file(o), o.out + "/stack.png", o.out + "/stack.html"}) check_writable(file);
  if (!o.json.empty()) check_writable(o.json);
}

std::string write_outputs(const Options& o, const Images& im, const Result& r) {
  const std::string raw = stack_file(o);
  const std::string png = o.out + "/stack.png";
  const std::string page = o.out + "/stack.html";
  write_file(raw, r.stack.data(), r.stack.size());
  const std::vector<std::byte> figure = picture(im, r);
  write_file(png, figure.data(), figure.size());
  const std::string html =
      html_page(r.setting, r.rows, figure,
                fmt::format("Above the stack that {} {} gave on every rank, grey scale cut at the 99th percentile of "
                            "its magnitude, grey-green where it is not finite or a fill value. Below its difference "
                            "from the sum in double precision; the ends of the scale are the worst error seen.",
                            r.shown.schedule, r.shown.payload));
  write_file(page, html.data(), html.size());
  std::string files = raw + "\n" + png + "\n" + page + "\n";
  if (!o.json.empty()) {
    write_rows(o.json, r);
    files += o.json + "\n";
  }
  return files;
}

}  // namespace stretto::stacking
