#include "codec/dense/workspace.hpp"

#include <memory>
#include <new>

namespace stretto::codec::dense {

Workspace* workspace() noexcept {
  thread_local std::unique_ptr<Workspace> mine;
  if (!mine) mine.reset(new (std::nothrow) Workspace);  // without (): unused memory is never touched
  return mine.get();
}

}  // namespace stretto::codec::dense
