// In which forms each block that a rank touches is at hand (values, codes, stream), and the work to bring it into another:
// what src/payload does, without data, by the rules of a System.
#pragma once

#include <cstdint>
#include <vector>

#include "model/profile/machine.hpp"
#include "model/walk/programs.hpp"
#include "model/walk/system.hpp"

namespace stretto::model {

// Of blocks in a row.
struct Extent {
  double bytes = 0;
  double blocks = 0;  // that have any
  double pieces = 0;  // that these are coded in
};

struct Cut {
  double segment = 0;  // bytes; 0: blocks are not cut
  // Pieces that a block travels and is coded in.
  double pieces(double bytes) const noexcept;
};

// Bytes of each block.
class Extents {
 public:
  // `bytes` cut into `blocks` nearly even ones, on multiples of `grain` bytes; 0: exactly even.
  Extents(double bytes, std::int32_t blocks, double grain);
  double of(std::int32_t block) const noexcept;
  Extent of(std::int32_t first, std::int32_t count, const Cut& cut) const noexcept;

 private:
  double even_ = 0, grain_ = 0, bytes_ = 0;
  double each_ = 0, rest_ = 0;  // grains of a block; of so many first blocks one more
  double last_ = 0;             // block with bytes
};

// What a send hands over.
struct Parcel {
  double wire = 0;           // bytes that travel
  double contributions = 0;  // summed in each of its blocks; of the block with most of them where they differ
};

class Forms {
 public:
  Forms(const Programs& programs, const Program& program, const System& system, const Machine& machine,
        const Extents& extents, const Cut& cut);

  // Seconds of work; the forms change.
  double up_front();                                  // of what is done before the first message
  double pack(const Act& act, Parcel* parcel);        // before a send
  double take(const Act& act, double contributions);  // after a receive
  double local(const Act& act);                       // a copy or combine
  double deliver(std::int32_t slot);                  // of a result, to the caller

  // Of an act of this program: raw bytes of its blocks, 0 for signals; and the messages that it is cut into.
  double bytes(const Act& act) const noexcept { return lengths_[index_of(act)].bytes; }
  double pieces(const Act& act) const noexcept { return lengths_[index_of(act)].pieces; }
  const Extent& extent(std::int32_t slot) const noexcept { return extents_[static_cast<std::size_t>(slot)]; }
  bool keeps_buffer(const Act& act) const noexcept;  // a send whose source must not change until it has arrived

 private:
  struct Form {
    bool raw = false, codes = false, stream = false;
    bool decoded = false;  // raw was made from stream
    bool home = false;     // raw lies where results belong
    double contributions = 0;
  };

  struct Length {
    double bytes = 0, pieces = 1;
  };

  std::size_t index_of(const Act& act) const noexcept { return static_cast<std::size_t>(&act - program_.acts.data()); }
  bool raw_travels(const Act& act) const noexcept;
  static double cost(const Rate& rate, const Extent& n) noexcept { return rate.of(n.bytes, n.pieces); }
  double to_stream(Form& f, const Extent& n) const;
  double to_raw(Form& f, const Extent& n) const;
  double meet(Form& dst, const Form& src, const Extent& n);
  double raw_sum_calls(const Act& act);

  const Program& program_;
  const System& system_;
  const Machine& machine_;
  const Cut& cut_;
  bool from_streams_ = false;
  bool sums_raw_ = false;  // in the act at hand
  std::vector<Form> forms_;
  std::vector<Extent> extents_;  // by slot
  std::vector<Length> lengths_;  // by act
};

}  // namespace stretto::model
