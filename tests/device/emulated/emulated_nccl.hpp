// Controls of the emulated NCCL (emulated_nccl.cpp), besides its C interface.
#pragma once

namespace stretto::device {

struct NcclEmulation {
  // Forgets faults and counts.
  void (*reset)();

  // Faults of a rank in all communicators; negative: never. mute: its n-th group from now on (from 0) never begins.
  // fail: its n-th group gives an asynchronous error. stay_away: it never joins communicators made from now on.
  void (*mute)(int rank, long n);
  void (*fail)(int rank, long n);
  void (*stay_away)(int rank);

  long (*groups)();       // message groups that have begun on all ranks
  long (*collectives)();  // collectives that have begun on all ranks
  long (*open)();         // communicators that have not ended
};

constexpr const char* kNcclEmulationSymbol = "stretto_nccl_emulation";

}  // namespace stretto::device
