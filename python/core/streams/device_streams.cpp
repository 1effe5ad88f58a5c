// The codec on memory of a device. The caller gives all memory of the device; a call returns when its result is there,
// and raises what became of it.
#include <nanobind/nanobind.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "errors.hpp"
#include "interrupt.hpp"
#include "parts.hpp"
#include "place.hpp"
#include "stretto/stretto_cuda.h"
#include "stretto/stretto_cuda_memory.h"

namespace nb = nanobind;

namespace stretto::python {
namespace {

using Address = std::uintptr_t;

const void* from(Address address) { return reinterpret_cast<const void*>(address); }
void* to(Address address) { return reinterpret_cast<void*>(address); }

// In pinned memory.
struct Answer {
  stretto_cuda_result result;
  double range[2];
};

// Pinned memory for the answers of each device is kept: CUDA takes longer to give some than an operation takes.
class Answers {
 public:
  stretto_status take(int device, Answer** answer) {
    {
      const std::lock_guard lock(mutex_);
      std::vector<Answer*>& free = free_[device];
      if (!free.empty()) {
        *answer = free.back();
        free.pop_back();
        return STRETTO_OK;
      }
    }
    void* p = nullptr;
    const stretto_status s = stretto_cuda_allocate(STRETTO_MEMORY_PINNED, sizeof(Answer), &p);
    *answer = static_cast<Answer*>(p);
    return s;
  }
  void give_back(int device, Answer* answer) {
    const std::lock_guard lock(mutex_);
    free_[device].push_back(answer);
  }

 private:
  std::mutex mutex_;
  std::map<int, std::vector<Answer*>> free_;
};

Answers& answers() {
  static auto* const all = new Answers;  // threads may end after it would
  return *all;
}

constexpr std::size_t kUnit = 256;
constexpr std::size_t rounded(std::size_t bytes) { return (bytes + kUnit - 1) / kUnit * kUnit; }

// Bytes of device memory for an operation: its workspace, and behind that the answer.
std::size_t room(stretto_cuda_operation operation, stretto_type type, std::size_t count) {
  std::size_t bytes = 0;
  check(stretto_cuda_workspace(operation, type, count, &bytes));
  return rounded(bytes) + rounded(sizeof(Answer));
}

// Runs work(&call) on the place's stream and waits for it. `memory`: room() bytes of the device.
template <class Work>
Answer run(const Place& place, Address memory, std::size_t bytes, const Work& work) {
  Answer found{};
  const stretto_status status = interruptible(nullptr, [&] {
    const Visit visit(place);
    if (visit.status() != STRETTO_OK) return visit.status();
    Answer* pinned = nullptr;
    stretto_status s = answers().take(place.device, &pinned);
    if (s != STRETTO_OK) return s;
    auto* const on_device = reinterpret_cast<Answer*>(memory + bytes - rounded(sizeof(Answer)));
    stretto_cuda_call call = STRETTO_CUDA_CALL_INIT;
    call.stream = place.stream;
    call.workspace = to(memory);
    call.workspace_bytes = bytes - rounded(sizeof(Answer));
    call.result = &on_device->result;
    s = place.begin();
    if (s == STRETTO_OK) s = work(&call, on_device->range);
    if (s == STRETTO_OK) s = stretto_cuda_copy(pinned, on_device, sizeof(Answer), place.stream);
    if (s == STRETTO_OK) s = stretto_cuda_wait(nullptr, place.stream);
    if (s == STRETTO_OK) found = *pinned;
    if (s != STRETTO_TIMEOUT) answers().give_back(place.device, pinned);  // else the copy may still come
    return s;
  });
  check(status);
  if (found.result.status != STRETTO_OK) {
    const auto ended = static_cast<stretto_status>(found.result.status);
    raise(ended, std::string("the operation on device ") + std::to_string(place.device) + " ended with " +
                     stretto_status_name(ended));
  }
  return found;
}

std::size_t compress(const Place& place, stretto_type type, Address values, std::size_t count, double eps, Address out,
                     std::size_t capacity, Address memory, std::size_t bytes) {
  return run(place, memory, bytes,
             [&](const stretto_cuda_call* call, double*) {
               return stretto_compress_on_stream(type, from(values), count, eps, to(out), capacity, call);
             })
      .result.bytes;
}

void decompress(const Place& place, stretto_type type, Address stream, std::size_t length, Address values,
                std::size_t count, std::uint32_t divisor, Address memory, std::size_t bytes) {
  run(place, memory, bytes, [&](const stretto_cuda_call* call, double*) {
    return stretto_decompress_on_stream(type, from(stream), length, to(values), count, divisor, call);
  });
}

std::size_t combine(const Place& place, stretto_cuda_operation operation, stretto_type type, Address a,
                    std::size_t a_bytes, Address b, std::size_t b_bytes, std::size_t count, Address out,
                    std::size_t capacity, Address memory, std::size_t bytes) {
  return run(place, memory, bytes,
             [&](const stretto_cuda_call* call, double*) {
               return stretto_combine_on_stream(operation, type, from(a), a_bytes, from(b), b_bytes, count, to(out),
                                                capacity, call);
             })
      .result.bytes;
}

std::size_t recode(const Place& place, stretto_coding coding, stretto_type type, Address stream, std::size_t length,
                   std::size_t count, Address out, std::size_t capacity, Address memory, std::size_t bytes) {
  return run(place, memory, bytes,
             [&](const stretto_cuda_call* call, double*) {
               return stretto_recode_on_stream(type, coding, from(stream), length, count, to(out), capacity, call);
             })
      .result.bytes;
}

std::size_t add_values(const Place& place, stretto_type type, Address a, std::size_t a_bytes, Address values,
                       std::size_t count, Address out, std::size_t capacity, Address memory, std::size_t bytes) {
  return run(place, memory, bytes,
             [&](const stretto_cuda_call* call, double*) {
               return stretto_add_values_on_stream(type, from(a), a_bytes, from(values), count, to(out), capacity,
                                                   call);
             })
      .result.bytes;
}

// (lo, hi, values left out); lo > hi where none is in the range.
nb::tuple value_range(const Place& place, stretto_type type, Address values, std::size_t count, double ignore_above,
                      Address memory, std::size_t bytes) {
  const Answer found = run(place, memory, bytes, [&](const stretto_cuda_call* call, double* range) {
    return stretto_value_range_below_on_stream(type, from(values), count, ignore_above, range, call);
  });
  return nb::make_tuple(found.range[0], found.range[1], found.result.bytes);
}

}  // namespace

void add_device_streams(nb::module_& m) {
  nb::enum_<stretto_cuda_operation>(m, "DeviceOperation")
      .value("compress", STRETTO_CUDA_COMPRESS)
      .value("decompress", STRETTO_CUDA_DECOMPRESS)
      .value("add", STRETTO_CUDA_ADD)
      .value("subtract", STRETTO_CUDA_SUBTRACT)
      .value("min", STRETTO_CUDA_MIN)
      .value("max", STRETTO_CUDA_MAX)
      .value("add_values", STRETTO_CUDA_ADD_VALUES)
      .value("range", STRETTO_CUDA_RANGE)
      .value("to_dense", STRETTO_CUDA_TO_DENSE)
      .value("to_fixed", STRETTO_CUDA_TO_FIXED);
  m.def("device_room", &room);
  m.def("device_compress", &compress);
  m.def("device_decompress", &decompress);
  m.def("device_combine", &combine);
  m.def("device_recode", &recode);
  m.def("device_add_values", &add_values);
  m.def("device_value_range", &value_range);
  m.def("compress_bound", [](stretto_type type, std::size_t count) { return stretto_compress_bound(type, count); });
  m.def("combine_bound", [](stretto_type type, std::size_t count) { return stretto_combine_bound(type, count); });
}

}  // namespace stretto::python
