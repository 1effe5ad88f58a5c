// Property: any text is a profile, or refused with a printable message. A profile's texts are printable and its figures
// finite and not negative. Writing and rereading a profile keeps every bit.
#include <cmath>
#include <string>

#include "model/profile/profile.hpp"
#include "require.hpp"

using namespace stretto;
using namespace stretto::model;

namespace {

void require_figure(double x) { require(std::isfinite(x) && x >= 0, "figures are finite and not negative"); }

void require_figures(const Profile& p) {
  for (const Link& link : p.links)
    for (const Span& s : link)
      for (const double x : {s.from, s.alpha, s.beta, s.cpu}) require_figure(x);
  for (const auto* costs : {&p.f32, &p.f64, &p.device.f32, &p.device.f64})
    for (const CodecCost& c : *costs)
      for (const double x : {c.ratio - 1, c.call, c.compress, c.decompress, c.add, c.fused}) require_figure(x);
  for (const Native& n : p.natives)
    for (const auto& [bytes, seconds] : n.points)
      for (const double x : {bytes, seconds}) require_figure(x);
  for (const double x : {p.torus.hop, p.gamma, p.copy, p.step, p.agreement, p.device.launch, p.device.staging,
                         p.device.look, p.device.combine, p.device.copy})
    require_figure(x);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Profile p, q;
  if (parse(std::string(reinterpret_cast<const char*>(data), size), &p) != Status::ok) {
    require_told();
    return 0;
  }
  require_figures(p);
  for (const std::string* text : {&p.name, &p.source, &p.mpi, &p.device.name, &p.device.source})
    require(printable(*text) == *text, "a profile's texts are printable");
  const std::string written = to_json(p);
  require(parse(written, &q) == Status::ok, "what is written is read");
  require(to_json(q) == written, "what is read back is alike");
  return 0;
}
