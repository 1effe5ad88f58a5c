// The systems of the literature as configurations of a collective, and their baselines.
#pragma once

#include <string_view>

#include "stretto/stretto.h"

namespace stretto::bench {

struct DeviceRow {
  std::string_view name, schedule;
  stretto_payload payload;
  bool hosts;              // only for several hosts
  const char* codes = "";  // STRETTO_DEVICE_CODES
};

// docs/model.md has the table in words. "raw", the ring of exact values over the same carrier, is the baseline of all
// others.
inline constexpr DeviceRow kDeviceRows[] = {
    {"raw", "ring", STRETTO_PAYLOAD_RAW, false},
    {"CPRP2P", "ring", STRETTO_PAYLOAD_CPRP2P, false},
    {"C-Coll", "ring", STRETTO_PAYLOAD_RECOMPRESS, false},
    {"gZCCL", "recursive_doubling", STRETTO_PAYLOAD_RECOMPRESS, false},
    {"hZCCL", "ring", STRETTO_PAYLOAD_HOMOMORPHIC, false},
    {"ghZCCL", "recursive_doubling", STRETTO_PAYLOAD_HOMOMORPHIC, false},
    {"HomComp", "ring", STRETTO_PAYLOAD_FUSED, false, "when_met"},
    {"HomComp ahead", "ring", STRETTO_PAYLOAD_FUSED, false, "ahead"},
    {"HomComp_F", "ring", STRETTO_PAYLOAD_FUSED, false},
    {"ArGM", "hierarchical_ring", STRETTO_PAYLOAD_MIXED, true},
    {"ours", "rabenseifner", STRETTO_PAYLOAD_FUSED, false},
    {"chosen", "", STRETTO_PAYLOAD_AUTO, false},
};

}  // namespace stretto::bench
