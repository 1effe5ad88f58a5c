// src/payload without data: forms of a rank's blocks, and the conversion work.
#pragma once

#include <cstdint>
#include <vector>

#include "model/profile/machine.hpp"
#include "model/walk/programs.hpp"
#include "model/walk/system.hpp"

namespace stretto::model {

struct Extent {
  double bytes = 0;
  double blocks = 0;
  double pieces = 0;
};

struct Cut {
  double segment = 0;  // bytes; 0: uncut
  double pieces(double bytes) const noexcept;
};

class Extents {
 public:
  // At multiples of `grain`; 0: exactly equal.
  Extents(double bytes, std::int32_t blocks, double grain);
  double of(std::int32_t block) const noexcept;
  Extent of(std::int32_t first, std::int32_t count, const Cut& cut) const noexcept;

 private:
  double even_ = 0, grain_ = 0, bytes_ = 0;
  double each_ = 0, rest_ = 0;  // grains per block; number of first blocks with one more
  double last_ = 0;             // last non-empty block
};

struct Parcel {
  double wire = 0;
  double contributions = 0;  // summed in each block; the most if they differ
};

class Forms {
 public:
  Forms(const Programs& programs, const Program& program, const System& system, const Machine& machine,
        const Extents& extents, const Cut& cut);

  double up_front();
  double pack(const Act& act, Parcel* parcel);
  double take(const Act& act, double contributions);
  double local(const Act& act);
  double deliver(std::int32_t slot);

  // 0 for signals.
  double bytes(const Act& act) const noexcept { return lengths_[index_of(act)].bytes; }
  double pieces(const Act& act) const noexcept { return lengths_[index_of(act)].pieces; }
  const Extent& extent(std::int32_t slot) const noexcept { return extents_[static_cast<std::size_t>(slot)]; }
  // The source must not change until the send has arrived.
  bool keeps_buffer(const Act& act) const noexcept;

 private:
  struct Form {
    bool raw = false, codes = false, stream = false;
    bool decoded = false;
    bool home = false;
    double contributions = 0;
  };

  struct Length {
    double bytes = 0, pieces = 1;
  };

  std::size_t index_of(const Act& act) const noexcept { return static_cast<std::size_t>(&act - program_.acts.data()); }
  bool raw_travels(const Act& act) const noexcept;
  static double cost(const Rate& rate, const Extent& n) noexcept { return rate.of(n.bytes, n.pieces); }
  double codec_cost(const Rate& rate, const Extent& n) const noexcept {
    return machine_.codec(rate, n.bytes, n.pieces);
  }
  double to_stream(Form& f, const Extent& n) const;
  double to_raw(Form& f, const Extent& n) const;
  double combine_forms(Form& dst, const Form& src, const Extent& n);
  double raw_sum_calls(const Act& act);

  const Program& program_;
  const System& system_;
  const Machine& machine_;
  const Cut& cut_;
  bool from_streams_ = false;
  bool sums_raw_ = false;
  std::vector<Form> forms_;
  std::vector<Extent> extents_;
  std::vector<Length> lengths_;
};

}  // namespace stretto::model
