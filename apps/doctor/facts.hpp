// What a process can find out about itself and about its host alone. Nothing here fails: what cannot be read is null.
#pragma once

#include <nlohmann/json.hpp>

namespace stretto::doctor {

using Json = nlohmann::ordered_json;

// This process: pid, uid, namespaces, hardware threads it may run on, its place by hwloc.
Json facts_of_process();

// Its host: kernel, hardware threads, memory, /dev/shm, Yama, pages, XPMEM, container.
Json facts_of_host();

// The codec's kernels here, and the GPU's.
Json facts_of_codec();

// The modules beside libstretto.so (docs/carriers.md), and which one serves the MPI of this process; without an MPI, that over UCX.
Json facts_of_modules();

}  // namespace stretto::doctor
