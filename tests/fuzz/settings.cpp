// Property: any environment gives valid settings; a value is accepted, or a complaint names its variable; its meaning
// depends on the value alone; and a name reported as misspelt is a slip away from one of stretto's.
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <string>

#include "mpi/settings/settings.hpp"
#include "mpi/settings/variables.hpp"
#include "node/arena/setting.hpp"
#include "require.hpp"

using namespace stretto;
using namespace stretto::mpi;

namespace {

// All that are read, but the file of rules, which has a target of its own.
constexpr std::array<const char*, 7> kVariables = {
    "STRETTO",      "STRETTO_BOUND",  "STRETTO_IGNORE_ABOVE", "STRETTO_REPRODUCIBLE",
    "STRETTO_NODE", "STRETTO_REPORT", "STRETTO_TIMEOUT"};

// The input is a line for each; those that it has no line for are not set.
std::map<std::string, std::string> environment(std::string_view text) {
  std::map<std::string, std::string> all;
  for (std::size_t i = 0; i < kVariables.size() && !text.empty(); ++i) {
    const std::string_view line = text.substr(0, text.find('\n'));
    all[kVariables[i]] = line.substr(0, line.find('\0'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return all;
}

void require_possible(const Settings& s) {
  require(!s.bound || (std::isfinite(s.bound->value) && s.bound->value > 0), "a bound is finite and positive");
  require(s.ignore_above >= 0, "what is ignored is above 0");
  require(s.timeout > 0 || s.timeout == -1, "a timeout is positive, or none");
  require(s.report || s.report_file.empty(), "no report, no file of it");
  for (const std::string& c : s.complaints) {
    const std::string name = c.substr(0, c.find(": "));
    require(std::count(kVariables.begin(), kVariables.end(), name) == 1, "a complaint names its variable");
  }
}

void require_bytes(const std::string& text) {
  std::uint64_t bytes = 0;
  const bool read = node::arena::parse_bytes(text.c_str(), &bytes);
  require(!read || (text[0] >= '0' && text[0] <= '9'), "a number of bytes begins with a digit");
  setenv("STRETTO_FUZZED", text.c_str(), 1);
  node::arena::SettingError setting_error;
  require(node::arena::bytes_from("STRETTO_FUZZED", 7, &setting_error) == (read ? bytes : 7),
          "what is no number is not taken");
  require((*setting_error.text == '\0') == (read || text.empty()), "what is no number is told");
  require(printable(setting_error.text) == setting_error.text, "a complaint is printable");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::map<std::string, std::string> values = environment(text);
  const Environment given = [&values](const char* name) {
    const auto at = values.find(name);
    return at == values.end() ? nullptr : at->second.c_str();
  };
  const Settings s = read_settings(given), again = read_settings(given);
  require_possible(s);
  require(s.common.size() == again.common.size() && s.complaints == again.complaints, "the same is read alike");
  for (std::size_t i = 0; i < s.common.size(); ++i)
    require(s.common[i].meaning == again.common[i].meaning, "the same has the same meaning");
  for (const auto& [variable, value] : values) {
    require_bytes(value);
    const std::string slip = slip_in("STRETTO_" + value);
    require(slip.empty() || slip.starts_with("STRETTO_" + value), "a slip names the variable");
  }
  return 0;
}
