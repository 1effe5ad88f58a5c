#include "node/arena/arena.hpp"

#include <dlfcn.h>

#include "node/arena/region.hpp"

namespace stretto::node::arena {
namespace {

const Interface& arena() noexcept {
  static const Interface* const found = [] {
    using Get = const Interface* (*)();
    const auto get = reinterpret_cast<Get>(dlsym(RTLD_DEFAULT, "stretto_arena_interface"));
    if (get != nullptr) return get();
    // Holds only buffers that the program requests explicitly.
    Region::at_most(std::uint64_t{64} << 30);
    return &interface_of_mine();
  }();
  return *found;
}

}  // namespace

View view() noexcept { return arena().view(); }
File file() noexcept { return arena().file(); }
const char* remark() noexcept { return arena().remark(); }
void* allocate(std::size_t bytes, std::size_t alignment, std::size_t* zeroed) noexcept {
  return arena().allocate(bytes, alignment, zeroed);
}
bool owns(const void* at) noexcept { return arena().owns(at); }
void release(void* at) noexcept { arena().release(at); }
std::size_t usable(const void* at) noexcept { return arena().usable(at); }
bool resize(void* at, std::size_t bytes) noexcept { return arena().resize(at, bytes); }
Statistics statistics() noexcept { return arena().statistics(); }

}  // namespace stretto::node::arena
