// The hosts on which a test places its ranks.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace api_test {

// By rank. `layout`: ranks of each host in turn ("1,2,3"; further ranks are on the last), or "cyclic:H": rank r is on
// host r mod H.
inline std::vector<int> placed(const std::string& layout, int ranks) {
  std::vector<int> hosts;
  if (layout.rfind("cyclic:", 0) == 0) {
    for (int r = 0; r < ranks; ++r) hosts.push_back(r % std::stoi(layout.substr(7)));
    return hosts;
  }
  int host = 0;
  for (std::size_t at = 0; at < layout.size(); ++host) {
    const std::size_t end = std::min(layout.find(',', at), layout.size());
    hosts.insert(hosts.end(), static_cast<std::size_t>(std::stoi(layout.substr(at, end - at))), host);
    at = end + 1;
  }
  hosts.resize(static_cast<std::size_t>(ranks), host - 1);
  return hosts;
}

}  // namespace api_test
