// Fields that ranks add up in benchmarks: real fields if available, else synthetic ones of a similar kind.
#pragma once

#include <string>
#include <vector>

namespace stretto::bench {

struct Arrays {
  std::string name;           // of the field or its stand-in
  std::vector<float> values;  // the sum of this rank's share of the arrays
};

// `name` is marmousi_rtm (12 seismic images) or gpt_grad_step10 (8 gradients), read from `directory`. If missing:
// `migrated` (12 images of a small model, by reverse time migration) and `noise_grad` (8 arrays of noise whose strength
// changes from row to row). Throws for another name.
Arrays field(const std::string& name, const std::string& directory, int ranks, int rank);

}  // namespace stretto::bench
