#include "job/output.hpp"

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fmt/core.h>

#include "stack/page.hpp"
#include "timing/rows.hpp"

namespace stretto::stacking {
namespace {

std::string stack_file(const Options& o) { return fmt::format("{}/stack.{}", o.out, type_name(o.type)); }

// Throws unless the file can be opened for writing; leaves it unchanged, and absent if it is.
void check_writable(const std::string& path) {
  const bool there = std::filesystem::exists(path);
  std::FILE* file = std::fopen(path.c_str(), "ab");
  if (file == nullptr) throw Problem(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
  std::fclose(file);
  if (!there) std::filesystem::remove(path);
}

// Input of `stretto draw` beside the arrays: their shape, and the figures for the titles.
std::string describe(const Options& o, const Images& im, const Result& r) {
  const nlohmann::ordered_json description{{"stack", std::filesystem::path(stack_file(o)).filename().string()},
                                           {"error", "error.f32"},
                                           {"type", type_name(im.type)},
                                           {"height", im.shape.h},
                                           {"width", im.shape.w},
                                           {"images", im.shape.n},
                                           {"origin", im.origin},
                                           {"cell_km", im.cell_km},
                                           {"schedule", r.shown.schedule},
                                           {"payload", r.shown.payload},
                                           {"worst_error", r.shown.worst},
                                           {"promised_error", r.shown.promised}};
  return description.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

void write_rows(const std::string& path, const Result& r) {
  timing::Writer writer(path);
  for (const Row& row : r.rows) {
    timing::Row line{.bench = "stacking",
                     .subject = row.schedule + " " + row.payload,
                     .metric = "ms",
                     .value = row.ms,
                     .unit = "ms",
                     .better = timing::Better::smaller};
    if (&row != &r.rows.front()) line.peer = timing::Peer{"MPI_Allreduce " + r.setting.flavour, r.rows.front().ms};
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
  check_writable(stack_file(o));
  for (const char* file : {"error.f32", "stack.json", "stack.html"}) check_writable(o.out + "/" + file);
  if (!o.json.empty()) check_writable(o.json);
}

std::string write_outputs(const Options& o, const Images& im, const Result& r) {
  const std::string raw = stack_file(o);
  const std::string error = o.out + "/error.f32";
  const std::string description = o.out + "/stack.json";
  const std::string page = o.out + "/stack.html";
  for (const char* former : {"stack.png", "stack.svg"}) {
    std::error_code ignored;  // an old picture would be mistaken for these data's
    std::filesystem::remove(o.out + "/" + former, ignored);
  }
  write_file(raw, r.stack.data(), r.stack.size());
  const std::vector<float> errors = error_map(im.type, r.stack.data(), r.reference);
  write_file(error, errors.data(), im.shape.pixels() * sizeof(float));
  const std::string text = describe(o, im, r);
  write_file(description, text.data(), text.size());
  const std::string html = html_page(r.setting, r.rows, o.out);
  write_file(page, html.data(), html.size());
  std::string files = raw + "\n" + error + "\n" + description + "\n" + page + "\n";
  if (!o.json.empty()) {
    write_rows(o.json, r);
    files += o.json + "\n";
  }
  return files;
}

}  // namespace stretto::stacking
