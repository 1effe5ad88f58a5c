#pragma once

namespace stretto::payload {

struct Seconds {
  double compress = 0;
  double decompress = 0;
  double combine = 0;
};

}  // namespace stretto::payload
