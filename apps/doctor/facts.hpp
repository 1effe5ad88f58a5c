// Facts that a process finds out about itself and its host alone. Nothing here fails: unreadable facts are null.
#pragma once

#include <nlohmann/json.hpp>

namespace stretto::doctor {

using Json = nlohmann::ordered_json;

// This process: pid, uid, namespaces, allowed hardware threads, its place by hwloc.
Json facts_of_process();

// The host: kernel, hardware threads, memory, /dev/shm, Yama, pages, XPMEM, container.
Json facts_of_host();

// The codec's kernels here, and the GPU's.
Json facts_of_codec();

// The modules beside libstretto.so (docs/carriers.md), and the module for this process' MPI; without an MPI, the UCX
// module.
Json facts_of_modules();

}  // namespace stretto::doctor
