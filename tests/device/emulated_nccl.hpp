// What tests ask of the emulated NCCL (emulated_nccl.cpp), beside its C interface.
#pragma once

namespace stretto::device {

struct NcclEmulation {
  // Forgets faults and counts.
  void (*reset)();

  // Faults of the rank with this number, in all communicators. Its n-th group from now on (from 0) never begins; the n-th gives an
  // asynchronous error. It never comes to a communicator that is made from now on. Negative: never.
  void (*mute)(int rank, long n);
  void (*fail)(int rank, long n);
  void (*stay_away)(int rank);

  long (*groups)();       // of messages, that have begun on all ranks
  long (*collectives)();  // the same
  long (*open)();         // communicators that have not been ended
};

constexpr const char* kNcclEmulationSymbol = "stretto_nccl_emulation";

}  // namespace stretto::device
