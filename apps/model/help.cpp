#include "help.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>

#include <fmt/core.h>

namespace stretto::app {
namespace {

constexpr std::size_t kLeft = 24, kWidth = 79;  // columns of names, and in total

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

// Wraps words from column `kLeft` on; the first line continues `line`.
std::string wrapped(std::string line, const std::string& text) {
  std::string all;
  std::istringstream words(text);
  const auto end_line = [&] {
    all += line + "\n";
    line = std::string(kLeft, ' ');
  };
  if (line.size() + 1 > kLeft) end_line();
  line.resize(std::max(line.size(), kLeft), ' ');
  bool begun = false;
  for (std::string word; words >> word; begun = true) {
    if (begun && line.size() + 1 + word.size() > kWidth) {
      end_line();
      begun = false;
    }
    line += (begun ? " " : "") + word;
  }
  end_line();
  return all;
}

}  // namespace

std::string Help::make_option(const CLI::Option* option, bool is_positional) const {
  std::string name;
  if (is_positional) {
    name = upper(option->get_name());
  } else {
    for (const std::string& s : option->get_snames()) name += "-" + s;
    for (const std::string& l : option->get_lnames()) name += (name.empty() ? "--" : ", --") + l;
    if (option->get_items_expected_max() > 0) name += " " + option->get_type_name();
  }
  std::string text = option->get_description();
  const std::string usual = option->get_default_str();
  if (option->get_items_expected_max() > 0 && !option->get_required() && !usual.empty() && usual != "[]")
    text += fmt::format(" [default: {}]", usual);
  return wrapped("  " + name, text);
}

std::string mistake(const CLI::App* app, const CLI::Error& error) {
  const std::string said = error.what(), kind = error.get_name();
  const auto commands = app->get_subcommands();
  if (!commands.empty()) app = commands.front();
  std::string text = said;
  for (const CLI::Option* option : app->get_options()) {
    const std::string name = option->get_name();
    if (kind == "RequiredError" && said == name + " is required")
      text = name + " is missing: " + option->get_description();
    if (kind == "ConversionError" && said.find(" " + name + " = ") != std::string::npos)
      text = name + " '" + CLI::detail::join(option->results()) + "' is no number: " + option->get_description();
  }
  return text + "\nRun with --help for more information.\n";
}

}  // namespace stretto::app
