// What the user asks for.
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

// A payload by the name that the table shows; throws Problem for one that there is not.
struct Payload {
  std::string name;
  stretto_payload kind = STRETTO_PAYLOAD_AUTO;
  bool in_code_space = false;  // sums codes, so that order and sharing do not show
};
Payload parse_payload(std::string_view name);

struct Options {
  std::string file;  // the user's images; empty: migrate shots
  Shape shape;       // of that file
  stretto_type type = STRETTO_F32;
  int shots = 12;   // migrated when there is no file
  int depth = 224;  // of the model, in cells
  int width = 448;
  Bound bound;
  int repeats = 7;
  std::vector<std::string> schedules{"ring", "recursive_doubling", "rabenseifner"};
  std::vector<Payload> payloads;
  std::string out = "stacking-out";
  std::string json;
  std::uint64_t tile = 0;  // bytes; 0: images as they are
};

// Values of a stack: of an image, or of as many whole ones as fit the bytes it is tiled to.
std::uint64_t values_of(const Options& options);

// Parses the command line. Returns true and fills *options, or false and sets *exit_code when the program is to end at once; then, if
// `speak`, the help or the complaint has been printed.
bool parse_options(int argc, char** argv, bool speak, Options* options, int* exit_code);

}  // namespace stretto::stacking
