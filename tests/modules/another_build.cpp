// A module of this version, and of another build.
#include "backend/module.hpp"

extern "C" [[gnu::visibility("default")]] const stretto::backend::Module stretto_module = {
    STRETTO_VERSION, "000000000007", "no MPI", nullptr, nullptr, nullptr};
