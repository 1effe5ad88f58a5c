#pragma once

#include <string>
#include <string_view>

#include "base/status.hpp"

namespace stretto::carrier {

// Keys and values, as in torch's TCPStore, PMIx or a directory. For one thread at a time. A failure names the key.
class Store {
 public:
  virtual ~Store() = default;

  // Atomic; replaces an earlier value.
  virtual Status set(const std::string& key, std::string_view value) = 0;

  // timeout: no key after `seconds`; 0 looks once.
  virtual Status get(const std::string& key, double seconds, std::string* value) = 0;

  // ok without the key.
  virtual Status remove(const std::string& key) = 0;
};

}  // namespace stretto::carrier
