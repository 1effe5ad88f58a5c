// Collectives of device memory between processes: each rank has an emulated device, or all share a GPU. Some ranks have their vectors on the
// host: no rank then uses what cannot reach a device.
#pragma once

#include <functional>
#include <string>

#include "stretto/stretto.h"

namespace stretto::tests {

// Precondition: the plugin was loaded before the communicator was made. 0: all was as it should be; 1: standard error says what was not.
int sums_of_ranks(stretto_comm comm);

// Precondition: a GPU, and messages over NCCL, which is there for all ranks. The same.
int graph_of_ranks(stretto_comm comm);

// `how`: lost, killed, killed_streams or leaves. Each communicator is made by all ranks.
using Make = std::function<stretto_comm()>;
int faults_of_ranks(const std::string& how, const Make& make);

}  // namespace stretto::tests
