// A store: keys with values that the ranks of a program share before they have a carrier. torch's TCPStore, a PMIx client
// and a directory are such.
#pragma once

#include <string>
#include <string_view>

#include "base/status.hpp"

namespace stretto::carrier {

// Used by one thread at a time. A failure names the key. Throws std::bad_alloc.
class Store {
 public:
  virtual ~Store() = default;

  // Sets or replaces a value, at once as a whole.
  virtual Status set(const std::string& key, std::string_view value) = 0;

  // timeout: the key is not there after `seconds`; 0 looks once.
  virtual Status get(const std::string& key, double seconds, std::string* value) = 0;

  // ok where the key is not there.
  virtual Status remove(const std::string& key) = 0;
};

}  // namespace stretto::carrier
