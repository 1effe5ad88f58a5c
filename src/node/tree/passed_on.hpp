#pragma once

#include <cstddef>
#include <vector>

namespace stretto::node {

// Memory for data on their way through a tree, in the arena where peers can map it.
class PassedOn {
 public:
  static constexpr std::size_t kMostKept = std::size_t{4} << 20;  // bytes, from call to call

  PassedOn() = default;
  ~PassedOn();
  PassedOn(const PassedOn&) = delete;
  PassedOn& operator=(const PassedOn&) = delete;
  std::byte* room(std::size_t bytes, bool may_use_arena);
  void trim() noexcept;  // no peer may read it any more

 private:
  std::byte* at_ = nullptr;
  std::size_t bytes_ = 0;
  bool in_arena_ = false;
  std::vector<std::byte> private_;
};

}  // namespace stretto::node
