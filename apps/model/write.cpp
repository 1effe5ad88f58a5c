#include "write.hpp"

#include <fmt/core.h>

#include "model/nodes.hpp"
#include "schedule/names.hpp"

namespace stretto::app {

Json to_json(const model::Candidate& c, schedule::Collective collective) {
  Json j;
  j["native"] = c.native;
  j["label"] = label(c, collective);
  if (!c.native) {
    j["schedule"] = c.schedule;
    j["payload"] = payload_name(c.payload, collective);
    if (payload::keeps_bound(c.payload)) j["coding"] = c.coding == codec::Coding::dense ? "dense" : "fixed";
    j["raw_inside"] = c.raw_inside;
    j["raw_below"] = c.raw_below;
    j["segment"] = c.segment;
    j["blocks"] = c.blocks;
    j["radix"] = c.radix;
    j["lanes"] = c.lanes;
  }
  j["seconds"] = c.seconds;
  return j;
}

Json to_json(const model::Question& q) {
  return {{"collective", schedule::name(q.collective)},
          {"bytes", q.bytes},
          {"element", q.element},
          {"device", q.device},
          {"root", q.root},
          {"compress", q.compress},
          {"ratio", q.ratio},
          {"dense_ratio", q.dense_ratio}};
}

std::string payload_name(payload::Kind kind, schedule::Collective collective) {
  return payload::name(kind, schedule::reduces(collective));
}

std::string label(const model::Candidate& c, schedule::Collective collective) {
  if (c.native) {
    const char* const name = c.provider == model::Provider::node ? "node" : "native";
    return c.payload == payload::Kind::raw ? name : fmt::format("{} {}", name, payload_name(c.payload, collective));
  }
  std::string text = fmt::format("{} {}", c.schedule, payload_name(c.payload, collective));
  if (c.by_lines()) return fmt::format("node, {} between hosts, by lines", text);
  if (c.piece > 0)
    return fmt::format("node, {} between hosts, pieces of {}", text, size_text(static_cast<double>(c.piece)));
  if (c.coding == codec::Coding::dense) text += ", dense";
  if (c.raw_inside) text += ", raw inside";
  if (c.raw_below > 0) text += ", raw below " + size_text(static_cast<double>(c.raw_below));
  if (c.blocks > 0) text += fmt::format(", {} blocks", c.blocks);
  if (c.radix > 0) text += fmt::format(", radix {}", c.radix);
  if (c.segment > 0) text += ", " + size_text(static_cast<double>(c.segment));
  if (c.lanes > 1) text += fmt::format(" on {} streams", c.lanes);
  return text;
}

std::string messages_text(const Json& r) {
  const std::string carrier = r["carrier"], of = r["messages"];
  std::string text = carrier == "mpi" ? "" : ", over " + carrier;
  if (of != r["machine"].get<std::string>())
    text += fmt::format(", messages of {}: nobody measured them over {}", of, carrier);
  return text;
}

std::string between_hosts(const model::Profile& profile, double gigabits, int hosts) {
  if (hosts == 1) return gigabits > 0 ? fmt::format("no network at {:g} Gb/s: one host", gigabits) : "";
  std::string text = profile.network_of.empty() ? "" : "network of " + profile.network_of + ": nobody measured one";
  if (gigabits > 0) text += fmt::format("{}network at {:g} Gb/s", text.empty() ? "" : ", ", gigabits);
  return text;
}

std::string machine_text(const Json& r) {
  const std::string name = r["machine"], from = r["profile"];
  const std::string network = r.value("network", "flat");
  const std::string on = network == "flat" ? "" : ", " + network;
  const std::string between = r["between_hosts"];
  const std::size_t doubts = r["doubts"].size();
  return (name == from ? name : fmt::format("{} ({})", name, from)) + on + messages_text(r) +
         (between.empty() ? "" : ", " + between) +
         (doubts > 0 ? fmt::format(", DOUBTED: {}", r["doubts"][0].get<std::string>()) : "");
}

std::string network_text(const std::vector<std::int32_t>& sides) {
  std::string text;
  for (const std::int32_t side : sides) text += fmt::format("{}{}", text.empty() ? "torus:" : "x", side);
  return text.empty() ? "flat" : text;
}

std::string size_text(double bytes) {
  const char* const units[] = {"", "K", "M", "G", "T"};
  int u = 0;
  while (bytes >= 1024 && u < 4) {
    bytes /= 1024;
    ++u;
  }
  return fmt::format("{:.4g}{}", bytes, units[u]);
}

std::string time_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.4g} us", seconds * 1e6);
  return seconds < 1 ? fmt::format("{:.4g} ms", seconds * 1e3) : fmt::format("{:.4g} s", seconds);
}

}  // namespace stretto::app
