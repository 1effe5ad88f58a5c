// The user's options.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stack/images.hpp"
#include "stretto/stretto.h"

namespace stretto::stacking {

struct Bound {
  bool relative = true;  // to the range over all images
  double value = 1e-4;
  std::string text = "rel:1e-4";
};

// "rel:X" or "abs:X" with X finite and positive; throws Problem otherwise.
Bound parse_bound(std::string_view text);

// A payload by its name in the table; throws Problem for an unknown name.
struct Payload {
  stretto_payload kind = STRETTO_PAYLOAD_AUTO;
  bool in_code_space = false;  // adds codes, so that order and grouping do not matter
  const char* name() const { return stretto_payload_name(kind); }
};
Payload parse_payload(std::string_view name);

struct Options {
  std::string file;  // the user's images; empty: migrate shots
  Shape shape;       // of that file
  stretto_type type = STRETTO_F32;
  int shots = 12;   // number of migrated shots, without a file
  int depth = 224;  // of the model, in cells
  int width = 448;
  Bound bound;
  int repeats = 7;
  std::vector<std::string> schedules{"ring", "recursive_doubling", "rabenseifner"};
  std::vector<Payload> payloads;
  std::string out = "stacking-out";
  std::string json;
  std::uint64_t tile = 0;  // bytes; 0: untiled
};

// Values per stack: of an image, or of the values that fill the tiled bytes.
std::uint64_t values_of(const Options& options);

// Parses the command line. Returns true and fills *options; or false, and sets *exit_code, if the program should end.
// The help or the complaint is then printed if `speak`.
bool parse_options(int argc, char** argv, bool speak, Options* options, int* exit_code);

}  // namespace stretto::stacking
