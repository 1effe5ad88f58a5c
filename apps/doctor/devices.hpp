// Facts about a host's GPUs without CUDA: from its driver and from NVML, both loaded at run time.
#pragma once

#include <functional>
#include <string>

#include "facts.hpp"

namespace stretto::doctor {

// {"reason", "driver", "links_reason", "list": [...]} (docs/command.md). Never fails. `reason`: why there is no device,
// or null. `links_reason`: why NVML reports no links, or null. Creates no context on any device.
Json facts_of_devices();

// How a collective moves device memory in this job, from this rank's view: "between devices, by NCCL 2.28.9"; null: not
// possible. `by_transport`: the job's transport of device memory, empty if it takes none; collective. `devices`: those
// of this host; `one_host`: all ranks are on it.
struct HostDevices {
  Json devices;
  bool one_host = false;
};
Json carrier_of_device_memory(const std::string& over, const std::function<std::string()>& by_transport,
                              const HostDevices& host);

}  // namespace stretto::doctor
