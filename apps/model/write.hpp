// Results as text or JSON.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "model/choose.hpp"

namespace stretto::app {

using Json = nlohmann::ordered_json;

Json to_json(const model::Candidate& candidate);
Json to_json(const model::Question& question);
std::string label(const model::Candidate& candidate);  // "hierarchical_ring fused, raw inside, 256K"
std::string size_text(double bytes);                   // "64K"
std::string time_text(double seconds);                 // "1.23 ms"

}  // namespace stretto::app
