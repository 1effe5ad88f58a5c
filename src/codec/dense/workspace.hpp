// Memory of a thread for dense streams: allocated when it first needs some, freed when it ends. Of its 20 MB a thread touches what its
// chunks need, mostly below 1 MB.
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
