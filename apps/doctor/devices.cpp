#include "devices.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include <fmt/core.h>

#include "api/creation/modules.hpp"
#include "stretto/stretto_cuda.h"

namespace stretto::doctor {
namespace {

// A library of the driver's. CUDA's headers are not needed: both interfaces keep their ABI for these functions.
class Library {
 public:
  explicit Library(const char* name) : handle_(dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
    if (!handle_) why_ = dlerror();
  }
  explicit operator bool() const noexcept { return handle_ != nullptr; }
  const std::string& why() const noexcept { return why_; }

  // The function's status; `kAbsent` if an older driver lacks it.
  template <class... A>
  int call(const char* name, A... arguments) const {
    const auto function = reinterpret_cast<int (*)(A...)>(dlsym(handle_, name));
    return function ? function(arguments...) : kAbsent;
  }

 private:
  static constexpr int kAbsent = -1;
  void* handle_;  // never unloaded: drivers do not support it well
  std::string why_;
};

using NvmlDevice = void*;

// Attributes of cuDeviceGetAttribute, by CUDA's numbers.
constexpr int kMajor = 75, kMinor = 76, kRdma = 116, kDmaBuf = 124;
constexpr unsigned kMostLinks = 18;  // NVML_NVLINK_MAX_LINKS

Json attribute(const Library& cuda, int number, int device) {
  int value = 0;
  return cuda.call<int*, int, int>("cuDeviceGetAttribute", &value, number, device) == 0 ? Json(value) : Json(nullptr);
}

Json flag(const Json& value) { return value.is_null() ? Json(nullptr) : Json(value.get<int>() != 0); }

std::string bus_of(const Library& cuda, int device) {
  char bus[32] = {};
  return cuda.call<char*, int, int>("cuDeviceGetPCIBusId", bus, sizeof bus, device) == 0 ? bus : "";
}

Json facts_of_device(const Library& cuda, int number, int count) {
  int device = 0;
  char name[256] = {};
  std::size_t memory = 0;
  if (cuda.call<int*, int>("cuDeviceGet", &device, number) != 0) return {{"number", number}, {"name", nullptr}};
  const bool named = cuda.call<char*, int, int>("cuDeviceGetName", name, sizeof name - 1, device) == 0;
  const bool sized = cuda.call<std::size_t*, int>("cuDeviceTotalMem_v2", &memory, device) == 0;
  const Json major = attribute(cuda, kMajor, device), minor = attribute(cuda, kMinor, device);
  Json peers = Json::array();
  for (int other = 0; other < count; ++other) {
    int peer = 0, can = 0;
    if (other == number || cuda.call<int*, int>("cuDeviceGet", &peer, other) != 0) continue;
    if (cuda.call<int*, int, int>("cuDeviceCanAccessPeer", &can, device, peer) == 0 && can != 0) peers.push_back(other);
  }
  const bool peer_memory =
      access("/sys/module/nvidia_peermem", F_OK) == 0 || access("/sys/module/nv_peer_mem", F_OK) == 0;
  return {{"number", number},
          {"name", named ? Json(name) : Json(nullptr)},
          {"memory", sized ? Json(memory) : Json(nullptr)},
          {"capability", major.is_null() || minor.is_null()
                             ? Json(nullptr)
                             : Json(fmt::format("{}.{}", major.get<int>(), minor.get<int>()))},
          {"bus", bus_of(cuda, device)},
          {"peers", std::move(peers)},
          {"gpudirect",
           {{"rdma", flag(attribute(cuda, kRdma, device))},
            {"dma_buf", flag(attribute(cuda, kDmaBuf, device))},
            {"peer_memory_module", peer_memory}}},
          {"pcie", nullptr},
          {"nvlink", nullptr}};
}

Json number_of(const Library& nvml, const char* function, NvmlDevice device) {
  unsigned value = 0;
  return nvml.call<NvmlDevice, unsigned*>(function, device, &value) == 0 ? Json(value) : Json(nullptr);
}

// Counts active links. A device without NVLink fails all queries.
Json nvlink_of(const Library& nvml, NvmlDevice device) {
  unsigned active = 0, version = 0, known = 0;
  for (unsigned link = 0; link < kMostLinks; ++link) {
    unsigned on = 0;
    if (nvml.call<NvmlDevice, unsigned, unsigned*>("nvmlDeviceGetNvLinkState", device, link, &on) != 0) continue;
    ++known;
    if (on == 0) continue;
    ++active;
    unsigned v = 0;
    if (nvml.call<NvmlDevice, unsigned, unsigned*>("nvmlDeviceGetNvLinkVersion", device, link, &v) == 0) version = v;
  }
  if (known == 0) return nullptr;
  return {{"links", known}, {"active", active}, {"version", version != 0 ? Json(version) : Json(nullptr)}};
}

void add_links(const Library& nvml, Json* device) {
  NvmlDevice handle = nullptr;
  const auto bus = (*device)["bus"].get<std::string>();
  if (nvml.call<const char*, NvmlDevice*>("nvmlDeviceGetHandleByPciBusId_v2", bus.c_str(), &handle) != 0) return;
  (*device)["pcie"] = {{"generation", number_of(nvml, "nvmlDeviceGetCurrPcieLinkGeneration", handle)},
                       {"width", number_of(nvml, "nvmlDeviceGetCurrPcieLinkWidth", handle)},
                       {"most_generation", number_of(nvml, "nvmlDeviceGetMaxPcieLinkGeneration", handle)},
                       {"most_width", number_of(nvml, "nvmlDeviceGetMaxPcieLinkWidth", handle)}};
  (*device)["nvlink"] = nvlink_of(nvml, handle);
}

// Null, or the reason why there are none.
Json add_all_links(Json* devices) {
  const Library nvml("libnvidia-ml.so.1");
  if (!nvml) return "no NVML: " + nvml.why();
  if (const int status = nvml.call("nvmlInit_v2"); status != 0)
    return fmt::format("NVML does not start: error {}", status);
  for (Json& device : *devices) {
    if (device.contains("bus")) add_links(nvml, &device);
  }
  nvml.call("nvmlShutdown");
  return nullptr;
}

bool all_reach_all(const Json& devices) {
  for (const Json& device : devices) {
    if (!device.contains("peers") || device["peers"].size() + 1 != devices.size()) return false;
  }
  return true;
}

}  // namespace

Json facts_of_devices() {
  Json found = {{"reason", nullptr}, {"driver", nullptr}, {"links_reason", nullptr}, {"list", Json::array()}};
  const Library cuda("libcuda.so.1");
  if (!cuda) {
    found["reason"] = "no CUDA driver: " + cuda.why();
    return found;
  }
  int version = 0, count = 0;
  const int status = cuda.call<unsigned>("cuInit", 0);
  if (cuda.call<int*>("cuDriverGetVersion", &version) == 0)
    found["driver"] = fmt::format("{}.{}", version / 1000, version % 1000 / 10);
  if (status != 0) {
    found["reason"] = fmt::format("the CUDA driver does not start: error {}", status);
    return found;
  }
  if (cuda.call<int*>("cuDeviceGetCount", &count) != 0 || count == 0) {
    found["reason"] = "the CUDA driver sees no device";
    return found;
  }
  for (int number = 0; number < count; ++number) found["list"].push_back(facts_of_device(cuda, number, count));
  found["links_reason"] = add_all_links(&found["list"]);
  return found;
}

// Follows the rules of src/api/device/link.hpp, without the agreement of all ranks and without trying CUDA IPC.
Json carrier_of_device_memory(const std::string& over, const std::function<std::string()>& by_transport,
                              const HostDevices& host) {
  const char* const setting = secure_getenv("STRETTO_DEVICE_CARRIER");
  const std::string wanted = setting ? setting : "";
  const std::string transport = by_transport();
  if (stretto_cuda_available() != STRETTO_OK) return nullptr;
  const backend::Module* nccl = nullptr;
  std::string found;
  const bool may_nccl = wanted.empty() || wanted == "nccl", may_transport = wanted.empty() || wanted == "transport";
  if (may_nccl && api::find_module("nccl", &nccl) == Status::ok && nccl->finds(&found) == Status::ok)
    return "moved between devices by " + found;
  if (may_transport && !transport.empty()) return "moved between devices by " + transport;
  const bool may_peer = wanted.empty() || wanted == "peer";
  if (may_peer && host.one_host && all_reach_all(host.devices["list"]))
    return "moved between devices by peer access (CUDA IPC between processes)";
  return "copied to pinned memory of the host, and sent over " + over;
}

}  // namespace stretto::doctor
