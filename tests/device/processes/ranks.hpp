// Collectives of device memory between processes: each rank has an emulated device, or all share a GPU. Some ranks'
// vectors are on the host: then no rank uses a transport that cannot reach a device.
#pragma once

#include <functional>
#include <string>

#include "stretto/stretto.h"

namespace stretto::tests {

// Precondition: the plugin was loaded before the communicator was made. Returns 0, or 1 after errors, which standard
// error names.
int sums_of_ranks(stretto_comm comm);

// Precondition: a GPU, and NCCL on all ranks. Returns like sums_of_ranks().
int graph_of_ranks(stretto_comm comm);

// `how`: lost, killed, killed_streams or leaves. All ranks make each communicator.
using Make = std::function<stretto_comm()>;
int faults_of_ranks(const std::string& how, const Make& make);

}  // namespace stretto::tests
