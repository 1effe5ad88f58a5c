#include "backend/module.hpp"
#include "backend/build.hpp"
#include "modules/ucx/library.hpp"
#include "modules/ucx/transport.hpp"

using namespace stretto;

namespace {

Status finds(std::string* found) noexcept {
  const modules::Ucp* ucp = nullptr;
  if (const Status s = modules::find_ucp(&ucp); s != Status::ok) return s;
  try {
    *found = fmt::format("UCX {} of {}", ucp->get_version_string(), ucp->where);
    return Status::ok;
  } catch (...) {
    return fail(Status::out_of_memory, std::string_view("no memory to describe UCX"));
  }
}

}  // namespace

extern "C" [[gnu::visibility("default")]] const backend::Module stretto_module = {
    STRETTO_VERSION, backend::build_id, "UCX " STRETTO_UCX_VERSION " and newer",
    finds,           nullptr,           modules::make_ucx_transport};
