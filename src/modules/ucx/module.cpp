#include "backend/module.hpp"
#include "backend/build.hpp"
#include "base/guarded.hpp"
#include "modules/ucx/library.hpp"
#include "modules/ucx/transport.hpp"

using namespace stretto;

namespace {

Status finds(std::string* found) noexcept {
  const modules::Ucp* ucp = nullptr;
  if (const Status s = modules::find_ucp(&ucp); s != Status::ok) return s;
  return guarded("to describe UCX", [&] {
    *found = fmt::format("UCX {} of {}", ucp->get_version_string(), ucp->where);
    return Status::ok;
  });
}

}  // namespace

extern "C" [[gnu::visibility("default")]] const backend::Module stretto_module = {
    STRETTO_VERSION, backend::build_id, "UCX " STRETTO_UCX_VERSION " and newer",
    finds,           nullptr,           modules::make_ucx_transport};
