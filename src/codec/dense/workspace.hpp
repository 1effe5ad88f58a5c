// A thread's memory, until it ends. Chunks touch mostly below 1 MB of the 20 MB.
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
