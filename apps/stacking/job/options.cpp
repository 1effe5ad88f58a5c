#include "job/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include <fmt/core.h>

#include "apps/command_line.hpp"

namespace stretto::stacking {
namespace {

const std::vector<Payload>& known_payloads() {
  static const std::vector<Payload> kAll{{STRETTO_PAYLOAD_RAW, false},
                                         {STRETTO_PAYLOAD_CPRP2P, false},
                                         {STRETTO_PAYLOAD_RECOMPRESS, false},
                                         {STRETTO_PAYLOAD_HOMOMORPHIC, true},
                                         {STRETTO_PAYLOAD_FUSED, true}};
  return kAll;
}

// Throws if the images are too many or too large.
void check_size(const Options& o) {
  constexpr std::uint64_t most = std::numeric_limits<int>::max();
  const std::uint64_t values = values_of(o);
  if (values <= most) return;
  const std::uint64_t element = stretto_type_size(o.type);
  throw Problem(
      fmt::format("{} gives a stack of {} {} values, more than the {} ({} bytes) that MPI_Allreduce takes at once",
                  o.tile / element == values ? fmt::format("--tile {}", o.tile) : "--shape", values, type_name(o.type),
                  most, most * element));
}

}  // namespace

std::uint64_t values_of(const Options& o) {
  const std::uint64_t pixels =
      o.file.empty() ? static_cast<std::uint64_t>(o.depth) * static_cast<std::uint64_t>(o.width) : o.shape.pixels();
  return std::max<std::uint64_t>(pixels, o.tile / stretto_type_size(o.type));
}

Bound parse_bound(std::string_view text) {
  Bound b;
  b.text = text;
  const std::string_view kind = text.substr(0, std::min<std::size_t>(4, text.size()));
  const std::string number(text.substr(kind.size()));
  char* end = nullptr;
  b.value = std::strtod(number.c_str(), &end);
  const bool whole = !number.empty() && *end == '\0';
  if ((kind != "rel:" && kind != "abs:") || !whole) {
    throw Problem(fmt::format("bound \"{}\" is neither rel:X nor abs:X", text));
  }
  if (!std::isfinite(b.value) || b.value <= 0) {
    throw Problem(fmt::format("bound \"{}\": {} is not finite and positive", text, number));
  }
  b.relative = kind == "rel:";
  return b;
}

Payload parse_payload(std::string_view name) {
  std::string names;
  for (const Payload& p : known_payloads()) {
    if (p.name() == name) return p;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", p.name());
  }
  throw Problem(fmt::format("payload \"{}\" is none of {}", name, names));
}

bool parse_options(int argc, char** argv, bool speak, Options* options, int* exit_code) {
  Options o;
  std::string shape;
  std::string type = "f32";
  std::string bound = o.bound.text;
  std::vector<std::string> payloads;
  for (const Payload& p : known_payloads()) payloads.emplace_back(p.name());

  CLI::App app{
      "Stacks partial seismic images: their sum on every rank, by MPI_Allreduce and by stretto's compressed\n"
      "allreduce, with a table of what each cost and gave, the stack and its error. Run it under mpirun.\n"
      "Without --images it computes the images by reverse time migration."};
  app.option_defaults()->always_capture_default();
  auto* images = app.add_option("--images", o.file, "raw little-endian file of your images");
  auto* shapes = app.add_option("--shape", shape, "its shape N,H,W: images, rows, columns");
  app.add_option("--type", type, "its type: f32 or f64")->needs(images);
  images->needs(shapes);
  shapes->needs(images);
  app.add_option("--shots", o.shots, "shots to migrate, one image each")->check(CLI::Range(1, 512))->excludes(images);
  app.add_option("--depth", o.depth, "cells of the velocity model in depth")
      ->check(CLI::Range(64, 4096))
      ->excludes(images);
  app.add_option("--width", o.width, "cells of the velocity model across")
      ->check(CLI::Range(64, 8192))
      ->excludes(images);
  app.add_option("--bound", bound, "error bound of each image: rel:X of the range over all images, or abs:X");
  app.add_option("--repeat", o.repeats, "timed repeats; the median counts")->check(CLI::Range(1, 1000));
  app.add_option("--schedules", o.schedules, "schedules, by comma")->delimiter(',');
  app.add_option("--payloads", payloads, "payloads, by comma")->delimiter(',');
  app.add_option("--tile", o.tile, "repeat each image until it has so many bytes (512, 64MB, ...)")
      ->transform(CLI::AsSizeValue(true));
  app.add_option(
      "--out", o.out,
      "directory for stack.f32 (or .f64), error.f32, stack.json and stack.html; `stretto draw` adds the picture");
  app.add_option("--json", o.json, "append the rows of the table to this file");
  if (!parsed(app, argc, argv, speak, exit_code)) return false;
  try {
    o.type = parse_type(type);
    if (!shape.empty()) o.shape = parse_shape(shape);
    o.bound = parse_bound(bound);
    for (const std::string& p : payloads) o.payloads.push_back(parse_payload(p));
    if (images->count() > 0 && o.file.empty()) throw Problem("--images \"\" names no file");
    check_size(o);
    if (o.payloads.empty() || o.schedules.empty()) throw Problem("there is no payload or no schedule to run");
  } catch (const Problem& e) {
    *exit_code = 2;
    if (speak) fmt::print(stderr, "stacking: {}\n", e.what());
    return false;
  }
  *options = std::move(o);
  return true;
}

}  // namespace stretto::stacking
