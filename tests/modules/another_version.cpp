// A module of another version of stretto.
#include "backend/module.hpp"

extern "C" [[gnu::visibility("default")]] const stretto::backend::Module stretto_module = {"0.0.7", "",      "no MPI",
                                                                                           nullptr, nullptr, nullptr};
