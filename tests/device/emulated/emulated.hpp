// Controls of the emulated device (emulated_plugin.cpp), besides the plugin interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "emulated_memory.hpp"

namespace stretto::device {

// Work of another library on an emulated stream.
class StreamWork {
 public:
  virtual ~StreamWork() = default;
  // Called alone, after all earlier work on its stream, until it returns true: the work is over.
  virtual bool go_on(EmulatedMemory& memory, const Visitor& stream) = 0;
};

struct Emulation {
  // Forgets faults, counts and findings. The seed decides the order and delay of streams.
  void (*reset)(std::uint64_t seed);

  // Faults on one device; negative: never. Counted from reset(): the n-th wait (from 0) of a stream for an event is
  // skipped; the n-th query for an unfinished event answers yes. Counted from now: the n-th and all later calls fail,
  // since the device is lost.
  void (*skip_wait)(int device, long n);
  void (*lie)(int device, long n);
  void (*lose)(int device, long n);
  long (*waits)(int device);
  long (*unready)(int device);  // queries that were answered no
  long (*calls)(int device);

  // Unordered accesses to the same memory, at least one of them a write; a description of the first.
  long (*races)();
  const char* (*first_race)();

  // Bytes that the plugin has allocated and not released, of device or pinned memory.
  std::size_t (*held)(bool pinned);

  // Stops this device; negative: none.
  void (*stall)(int device);

  // Allocations of this device fail; negative: of none.
  void (*refuse_memory)(int device);

  // Kernel launches on the device since reset(), by codec::cuda::StreamOperation.
  long (*launches)(int device, int operation);
  // Copies from device memory to device memory since reset().
  long (*copies)(int device);

  // Lends device memory, for reads or writes, to a library that transfers messages, until the return of the loan. *real
  // is its address for the host. Detects unordered accesses meanwhile or afterwards. Returns the loan's number.
  // loans(): loans since reset().
  std::size_t (*lend)(void* p, std::size_t bytes, bool writes, void** real);
  void (*give_back)(std::size_t loan);
  long (*loans)();

  // An error if the stream is not of the current device. `alone` excludes all other work on devices.
  int (*enqueue)(void* stream, std::shared_ptr<StreamWork> work);
  void (*alone)(const std::function<void()>& body);

  // Begins or ends the capture of a test's stream in a graph; captured work does not run.
  void (*capture)(void* stream, bool begins);
  long (*captured)(void* stream);  // number of items captured
};

constexpr const char* kEmulationSymbol = "stretto_cuda_emulation";

}  // namespace stretto::device
