#pragma once

#include <cstddef>
#include <vector>

namespace stretto::node {

// Memory for data on their way through a tree, in the arena where there is one. Kept from call to call.
class PassedOn {
 public:
  PassedOn() = default;
  ~PassedOn();
  PassedOn(const PassedOn&) = delete;
  PassedOn& operator=(const PassedOn&) = delete;
  std::byte* room(std::size_t bytes);

 private:
  std::byte* at_ = nullptr;
  std::size_t bytes_ = 0;
  bool in_arena_ = false;
  std::vector<std::byte> private_;
};

}  // namespace stretto::node
