// Memory of a thread for dense streams: allocated at its first use, freed when the thread ends. A thread touches as much of the 20 MB as
// its chunks need, mostly below 1 MB.
#pragma once

#include "codec/dense/reader.hpp"
#include "codec/dense/writer.hpp"

namespace stretto::codec::dense {

struct Workspace {
  Reader readers[2];
  Writer writer;
};

// Null if there is no memory.
Workspace* workspace() noexcept;

}  // namespace stretto::codec::dense
