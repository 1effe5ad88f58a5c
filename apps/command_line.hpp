// Command lines that all ranks of a program share.
#pragma once

#include <CLI/CLI.hpp>

namespace stretto {

// False: the program ends with *code, which is 0 after --help and 2 after a mistake. Only the rank that `speaks`
// prints.
inline bool parsed(CLI::App& app, int argc, const char* const* argv, bool speaks, int* code) {
  try {
    app.parse(argc, argv);
    return true;
  } catch (const CLI::ParseError& e) {
    *code = e.get_exit_code() == 0 ? 0 : 2;
    if (speaks) app.exit(e);
    return false;
  }
}

}  // namespace stretto
