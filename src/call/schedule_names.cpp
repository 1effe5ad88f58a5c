#include "call/schedule_names.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "schedule/registry.hpp"

namespace stretto::call {

int schedule_index(const char* name) noexcept {
  const auto& all = schedule::algorithms();
  if (std::strcmp(name, kNativeName) == 0) return static_cast<int>(all.size()) + 1;
  if (std::strcmp(name, kNodeName) == 0) return static_cast<int>(all.size()) + 2;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].name == name) return static_cast<int>(i) + 1;
  return -1;
}

const char* schedule_name(int index) noexcept {
  const auto& all = schedule::algorithms();
  if (index == 0) return "chosen";
  if (index == static_cast<int>(all.size()) + 1) return kNativeName;
  if (index == static_cast<int>(all.size()) + 2) return kNodeName;
  return index > 0 && static_cast<std::size_t>(index) <= all.size() ? all[index - 1].name.data() : "?";
}

std::vector<std::string> schedule_names() {
  std::vector<std::string> names;
  for (const schedule::Algorithm& a : schedule::algorithms())
    if (std::find(names.begin(), names.end(), a.name) == names.end()) names.emplace_back(a.name);
  names.emplace_back(kNativeName);
  names.emplace_back(kNodeName);
  return names;
}

}  // namespace stretto::call
