// Results as text or JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "model/choose.hpp"

namespace stretto::app {

using Json = nlohmann::ordered_json;

Json to_json(const model::Candidate& candidate, schedule::Collective collective);
Json to_json(const model::Question& question);
// "hierarchical_ring fused, raw inside, 256K"
std::string label(const model::Candidate& candidate, schedule::Collective collective);
// The name of a payload in a call's report (stretto_report::payload): "compress_once" for streams that only move.
std::string payload_name(payload::Kind kind, schedule::Collective collective);
// "node17 (/home/me/.config/stretto/node17_MPICH.json)" of a result, or the name alone if that is the path. Includes
// remarks about the carrier.
std::string machine_text(const Json& result);
// "network of built-in, at 0.1 Gb/s" if the times between so many hosts come partly from elsewhere; else empty.
std::string between_hosts(const model::Profile& profile, double gigabits, int hosts);
std::string messages_text(
    const Json& result);  // ", over ucx, messages of built-in: nobody measured them over ucx", or empty
std::string network_text(const std::vector<std::int32_t>& sides);  // "torus:4x4x4"; "flat" without any
std::string size_text(double bytes);                               // "64K"
std::string time_text(double seconds);                             // "1.23 ms"

}  // namespace stretto::app
