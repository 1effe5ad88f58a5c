// What can be found out about a host's GPUs without CUDA: from its driver, and from NVML, both loaded at run time.
#pragma once

#include <functional>
#include <string>

#include "facts.hpp"

namespace stretto::doctor {

// {"reason", "driver", "links_reason", "list": [...]} (docs/command.md). Never fails. `reason`: why there is no device; null where
// there is one. `links_reason`: why NVML says nothing of links; null where it does. Makes no context on any device.
Json facts_of_devices();

// How a collective moves memory of a device in this job, as this rank sees it: "between devices, by NCCL 2.28.9". Null where it cannot.
// `by_transport`: what the job's transport would move it with, empty where it does not take such memory; collective. `devices`: those of
// this host, and whether all ranks are here.
struct Reach {
  Json devices;
  bool one_host = false;
};
Json carrier_of_device_memory(const std::string& over, const std::function<std::string()>& by_transport,
                              const Reach& reach);

}  // namespace stretto::doctor
