#include "backend/module.hpp"
#include "backend/build.hpp"
#include "modules/nccl/comm.hpp"
#include "modules/nccl/library.hpp"

using namespace stretto;

namespace {

Status finds(std::string* found) noexcept {
  const modules::nccl::Library* nccl = nullptr;
  if (const Status s = modules::nccl::find_library(&nccl); s != Status::ok) return s;
  try {
    *found = nccl->name + " of " + nccl->where;
    return Status::ok;
  } catch (...) {
    return fail(Status::out_of_memory, std::string_view("no memory to describe NCCL"));
  }
}

}  // namespace

extern "C" [[gnu::visibility("default")]] const backend::Module stretto_module = {
    STRETTO_VERSION, backend::build_id, "NCCL 2.14 to 2.x",     finds,
    nullptr,         nullptr,           modules::nccl::make_id, modules::nccl::make_comm};
