#include "model/profile/machine.hpp"

#include <algorithm>
#include <cmath>

namespace stretto::model {
namespace {

CodecCost at_ratio(const std::vector<CodecCost>& costs, double ratio) {
  if (costs.empty()) return {};
  if (ratio <= costs.front().ratio) return costs.front();
  if (ratio >= costs.back().ratio) return costs.back();
  std::size_t i = 1;
  while (costs[i].ratio < ratio) ++i;
  const CodecCost &a = costs[i - 1], &b = costs[i];
  const double t = (1 / a.ratio - 1 / ratio) / (1 / a.ratio - 1 / b.ratio);
  const auto mix = [t](double x, double y) { return x + t * (y - x); };
  return {ratio,
          mix(a.call, b.call),
          mix(a.compress, b.compress),
          mix(a.decompress, b.decompress),
          mix(a.add, b.add),
          mix(a.fused, b.fused)};
}

// The next farther measured link: a closer one is at least as good.
const Link& nearest(const Profile& profile, std::size_t distance) {
  static const Link kUnmeasured{Span{}};
  for (std::size_t d = distance; d < topology::kDistances; ++d)
    if (!profile.links[d].empty()) return profile.links[d];
  for (std::size_t d = distance; d-- > 0;)
    if (!profile.links[d].empty()) return profile.links[d];
  return kUnmeasured;
}

Device device_of(const Profile& profile) {
  // Sources: docs/model.md.
  static const Device kEstimated{"",   "estimated", 5e-6,    4e-11,
                                 1e-5, 7e-13,       4.7e-13, {{1, 1.5e-5, 1.1e-12, 1.1e-12, 1.5e-12, 1.5e-12}},
                                 {},   {},          {}};
  if (!profile.device.known()) return kEstimated;
  Device d = profile.device;
  if (d.look <= 0) d.look = kEstimated.look;
  if (d.f32.empty()) {  // the profile's own figures are the device's
    d.f32 = profile.f32;
    d.f64 = profile.f64;
    d.combine = profile.gamma;
    d.copy = profile.copy;
  }
  return d;
}

const std::vector<CodecCost>& costs_for(std::uint32_t element, const std::vector<CodecCost>& f32,
                                        const std::vector<CodecCost>& f64) {
  return element == 8 && !f64.empty() ? f64 : f32;
}

void set_codec(const CodecCost& c, Machine* m) {
  m->compress = {c.call, c.compress};
  m->decompress = {c.call, c.decompress};
  m->add = {c.call, c.add};
  m->fused = {c.call, c.fused};
  m->add_codes = m->add;
}

}  // namespace

const Span& Machine::span(topology::Distance d, double bytes) const noexcept {
  const Link& link = links[static_cast<std::size_t>(d)];
  std::size_t i = link.size() - 1;
  while (i > 0 && link[i].from > bytes) --i;
  return link[i];
}

double Machine::moving(topology::Distance d, double bytes, double messages) const noexcept {
  const Span& s = span(d, messages > 0 ? bytes / messages : bytes);
  return bytes * s.cpu + messages * s.cpu_message;
}

double Machine::ratio_of(double contributions) const noexcept {
  if (contributions <= 1 || growth <= 0) return ratio;
  return std::max(1.0, value_bits / (value_bits / ratio + growth * std::log2(contributions)));
}

double Machine::codec(const Rate& rate, double bytes, double calls) const noexcept {
  // A call wakes the other threads. The host's memory is assumed to feed eight copying cores.
  constexpr double wake = 5e-6, feeds = 8;
  const double chunks = calls > 0 ? std::ceil(bytes / calls / (kCodecChunk * value_bits / 8)) : 1;
  const double threads = std::min<double>(codec_threads, chunks);
  if (threads <= 1) return rate.of(bytes, calls);
  const double part = std::ceil(chunks / threads) / chunks;
  return calls * (rate.call + wake) + bytes * std::max(rate.byte * part, std::min(rate.byte, copy.byte / feeds));
}

double break_even(const Machine& machine) noexcept {
  constexpr double long_message = 1 << 20;
  const double beta = machine.span(topology::Distance::network, long_message).beta;
  const double gain = beta * (1 - 1 / machine.ratio) - machine.fused.byte;
  if (gain <= 0) return INFINITY;
  const double bytes = machine.fused.call / gain;
  return bytes < 1 ? 0 : std::exp2(std::ceil(std::log2(bytes)));
}

Machine machine_of(const Profile& profile, std::uint32_t element, double ratio) {
  Machine m;
  for (std::size_t d = 0; d < topology::kDistances; ++d) m.links[d] = nearest(profile, d);
  m.full_duplex = profile.full_duplex;
  m.nics = profile.nics;
  m.hop = profile.torus.hop;
  m.cores = profile.cores;
  m.ratio = std::max(ratio, 1.0);
  m.value_bits = 8.0 * element;
  m.growth = kIndependentGrowth;
  m.step = profile.step;
  m.eager_limit = static_cast<double>(profile.eager_limit);
  m.codec_threads = profile.codec_threads;
  m.combine = {profile.device.launch, profile.gamma};
  m.copy = {profile.device.launch, profile.copy};
  const CodecCost c = at_ratio(costs_for(element, profile.f32, profile.f64), ratio);
  set_codec(c, &m);
  m.quantise = {c.call, profile.copy};
  return m;
}

Machine machine_of_dense(const Profile& profile, std::uint32_t element, double ratio, double dense_ratio) {
  Machine m = machine_of(profile, element, ratio);
  m.ratio = std::max(dense_ratio, 1.0);
  if (!profile.dense_f32.empty()) {
    set_codec(at_ratio(costs_for(element, profile.dense_f32, profile.dense_f64), dense_ratio), &m);
    m.quantise = m.compress;
    return m;
  }
  // Seconds that the entropy stage adds per byte of float32 while cores move messages: 2.5 times those of docs/codec.md
  // ("Dense chunks"), on a processor that compresses a byte in `reference` seconds.
  static const std::vector<CodecCost> kEntropy{{4, 0, 9.8e-10, 8e-10, 2.3e-9, 1.6e-9},
                                               {9, 0, 5.8e-10, 4.4e-10, 1.55e-9, 1.1e-9},
                                               {40, 0, 3.8e-10, 3.1e-10, 1.2e-9, 8e-10}};
  constexpr double reference = 8e-11;
  const double slower = profile.f32.empty() ? 1 : at_ratio(profile.f32, ratio).compress / reference;
  const double values = std::clamp(slower, 1.0, 16.0) * 4 / element;
  const CodecCost more = at_ratio(kEntropy, dense_ratio);
  m.compress.byte += values * more.compress;
  m.decompress.byte += values * more.decompress;
  m.add.byte += values * more.add;
  m.fused.byte += values * more.fused;
  m.quantise = m.compress;
  m.add_codes = m.add;
  return m;
}

Machine with_halves(Machine m) {
  m.ratio = 2;
  m.growth = 0;
  m.codec_threads = 1;
  m.compress = m.decompress = m.fused = m.copy;
  return m;
}

Machine machine_on_device(const Profile& profile, std::uint32_t element, double ratio, int lanes, bool staged,
                          int reaching) {
  const Device d = device_of(profile);
  const double share = std::max(reaching, 1);
  Machine m = machine_of(profile, element, ratio);
  m.eager_limit = 0;
  m.codec_threads = 1;
  for (Link& link : m.links) {
    for (Span& s : link) {
      if (!staged) break;
      s.alpha += 2 * (d.launch + d.look);
      s.beta += 2 * d.staging;
    }
  }
  if (reaching > 0) {
    const double host = m.span(topology::Distance::node, 1).alpha;
    for (Link& link : m.links) link = {{0, 2 * host + 2 * d.look + d.launch, share * d.copy, 0}};
    m.nics = 0;
  }
  m.combine = {d.launch, share * d.combine};
  m.copy = {d.launch, share * d.copy};
  const CodecCost c = at_ratio(element == 8 && !d.f64.empty() ? d.f64 : d.f32, ratio);
  const double call = std::max(d.launch, c.call / std::max(lanes, 1));
  m.compress = {call, share * c.compress};
  m.decompress = {call, share * c.decompress};
  m.add = {call, share * c.add};
  m.fused = {call, share * c.fused};
  m.quantise = {call, share * d.copy};
  m.add_codes = m.add;
  return m;
}

int lanes_for(const Profile& profile, std::uint32_t element, double ratio, bool streams, double block,
              double segment) noexcept {
  const Device d = device_of(profile);
  const bool cut = segment > 0 && block > segment;
  const double segments = cut ? std::ceil(block / segment) : 1;
  const double call = streams ? at_ratio(element == 8 && !d.f64.empty() ? d.f64 : d.f32, ratio).call : d.launch;
  const double travels = streams ? block / std::max(ratio, 1.0) : block;
  int best = 1;
  double least = INFINITY;
  for (int lanes = 1; lanes <= kMostLanes && lanes <= segments; lanes *= 2) {
    const double alone = lanes == 1 ? travels * d.staging : 0;  // transfers that wait for kernels
    const double seconds = segments * std::max(d.launch, call / lanes) + alone + 2 * lanes * d.launch;
    if (seconds < least) best = lanes;
    least = std::min(least, seconds);
  }
  return best;
}

}  // namespace stretto::model
