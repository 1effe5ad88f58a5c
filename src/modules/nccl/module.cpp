#include "backend/module.hpp"
#include "backend/build.hpp"
#include "base/guarded.hpp"
#include "modules/nccl/comm.hpp"
#include "modules/nccl/library.hpp"

using namespace stretto;

namespace {

Status finds(std::string* found) noexcept {
  const modules::nccl::Library* nccl = nullptr;
  if (const Status s = modules::nccl::find_library(&nccl); s != Status::ok) return s;
  return guarded("to describe NCCL", [&] {
    *found = nccl->name + " of " + nccl->where;
    return Status::ok;
  });
}

}  // namespace

extern "C" [[gnu::visibility("default")]] const backend::Module stretto_module = {
    STRETTO_VERSION, backend::build_id, "NCCL 2.14 to 2.x",     finds,
    nullptr,         nullptr,           modules::nccl::make_id, modules::nccl::make_comm};
