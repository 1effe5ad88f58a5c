// The help of stretto-model, in the style of `stretto`, which shows it as its own.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace stretto::app {

class Help : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
};

// What a user reads about a mistake on the command line: the option, what was given, and what the option takes.
std::string mistake(const CLI::App* app, const CLI::Error& error);

}  // namespace stretto::app
