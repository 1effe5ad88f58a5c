// What tests ask of the emulated device (emulated_plugin.cpp), beside what its table offers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "emulated_memory.hpp"

namespace stretto::device {

// What another library enqueues on an emulated stream.
class StreamWork {
 public:
  virtual ~StreamWork() = default;
  // Asked, while nothing else happens on any device, from when all before it on its stream is over until it says that it is over, too.
  virtual bool go_on(EmulatedMemory& memory, const Visitor& stream) = 0;
};

struct Emulation {
  // Begins anew: faults, counts and findings are forgotten. The seed decides in which order streams go on, and how late.
  void (*reset)(std::uint64_t seed);

  // Faults, on one device. Counted from reset(): the n-th wait (from 0) of a stream for an event is not made. The n-th
  // question whether an event is over that would be answered no is answered yes. Counted from now: from the n-th call on
  // every call fails, for the device is lost. Negative: never.
  void (*skip_wait)(int device, long n);
  void (*lie)(int device, long n);
  void (*lose)(int device, long n);
  long (*waits)(int device);
  long (*unready)(int device);  // questions that were answered no
  long (*calls)(int device);

  // Accesses to the same memory that nothing orders, of which one writes; the first of them in words.
  long (*races)();
  const char* (*first_race)();

  // Memory that the plugin has given and not got back, in bytes; of the kind device, or pinned.
  std::size_t (*held)(bool pinned);

  // This device does nothing from here on, until told otherwise by a negative number.
  void (*stall)(int device);

  // Allocations of this device fail from here on; negative: none do.
  void (*refuse_memory)(int device);

  // How often a kernel was launched on the device since reset(); of the codec's operations, by codec::cuda::StreamOperation.
  long (*launches)(int device, int operation);
  // The same of copies from the memory of a device to that of one.
  long (*copies)(int device);

  // Memory of a device in the hands of what carries messages, from now until the loan is given back: read, or written. *real is
  // where the host may touch it. What touches the memory meanwhile, or afterwards without having come after the return, is found.
  // The number of the loan. And how many there have been since reset().
  std::size_t (*lend)(void* p, std::size_t bytes, bool writes, void** real);
  void (*give_back)(std::size_t loan);
  long (*loans)();

  // 0, or an error: the stream is none of the current device. In `alone` nothing else happens on any device.
  int (*enqueue)(void* stream, std::shared_ptr<StreamWork> work);
  void (*alone)(const std::function<void()>& body);

  // Streams of tests that are captured in a graph: what is enqueued there is not done.
  void (*capture)(void* stream, bool begins);
  long (*captured)(void* stream);  // how much has been enqueued since
};

constexpr const char* kEmulationSymbol = "stretto_cuda_emulation";

}  // namespace stretto::device
