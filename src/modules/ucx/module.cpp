// The table of the module for UCX.
#include "backend/module.hpp"
#include "modules/ucx/transport.hpp"

using namespace stretto;

extern "C" [[gnu::visibility("default")]] const backend::Module stretto_module = {
    STRETTO_VERSION, "UCX " STRETTO_UCX_VERSION " and newer", nullptr, modules::make_ucx_transport};
