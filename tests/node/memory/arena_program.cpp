// A program unaware of stretto, run with libstretto_arena.so preloaded: the allocator keeps its promises, and large
// allocations lie in the arena. With the argument `full` the arena is too small for the requests; with `guest` the
// program closes unknown descriptors. Exit status 1, and a line per failure, on failure.
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "node/arena/arena.hpp"

namespace {

using stretto::node::arena::Interface;

constexpr std::size_t kLarge = 1 << 20;
int failures = 0;
const Interface* arena = nullptr;

void expect(bool holds, const char* what) {
  if (holds) return;
  ++failures;
  std::fprintf(stderr, "%s\n", what);
}

bool all_zero(const void* at, std::size_t n) {
  const auto* p = static_cast<const unsigned char*>(at);
  return n == 0 || (p[0] == 0 && std::memcmp(p, p + 1, n - 1) == 0);
}

void every_function() {
  void* small = std::malloc(100);
  expect(!arena->owns(small), "a small allocation lies in the arena");
  auto* p = static_cast<unsigned char*>(std::malloc(kLarge));
  expect(arena->owns(p), "malloc of much lies outside the arena");
  expect(malloc_usable_size(p) >= kLarge && malloc_usable_size(small) >= 100, "malloc_usable_size");
  std::memset(p, 0xAB, kLarge);
  std::free(p);
  auto* z = std::calloc(kLarge / 4, 4);
  expect(arena->owns(z) && all_zero(z, kLarge), "calloc of memory that was used before");
  auto* r = static_cast<unsigned char*>(std::realloc(z, 3 * kLarge));
  expect(r != nullptr && all_zero(r, kLarge), "realloc to more");
  r[0] = 7;
  r = static_cast<unsigned char*>(std::realloc(r, 50));
  expect(r != nullptr && r[0] == 7 && !arena->owns(r), "realloc to little");
  r = static_cast<unsigned char*>(std::realloc(r, kLarge));
  expect(r != nullptr && r[0] == 7, "realloc from little");
  std::free(r);
  std::free(small);
  for (std::size_t alignment = 16; alignment <= (1u << 18); alignment *= 4) {
    void* q = nullptr;
    expect(posix_memalign(&q, alignment, kLarge) == 0 && reinterpret_cast<std::uintptr_t>(q) % alignment == 0,
           "posix_memalign");
    void* a = aligned_alloc(alignment, kLarge);
    expect(a != nullptr && reinterpret_cast<std::uintptr_t>(a) % alignment == 0, "aligned_alloc");
    void* m = memalign(alignment, kLarge);
    expect(m != nullptr && reinterpret_cast<std::uintptr_t>(m) % alignment == 0, "memalign");
    std::free(q);
    std::free(a);
    std::free(m);
  }
  void* none = nullptr;
  expect(posix_memalign(&none, 3, 100) != 0, "posix_memalign with an alignment that is none");
  const auto x = std::make_unique<double[]>(kLarge);
  expect(arena->owns(x.get()), "C++ new lies outside the arena");
}

void threads() {
  std::vector<std::thread> all;
  for (unsigned t = 0; t < 4; ++t)
    all.emplace_back([t] {
      std::mt19937 random(t);
      std::vector<std::pair<unsigned char*, std::size_t>> live;
      for (int k = 0; k < 2000; ++k) {
        if (live.size() < 8) {
          const std::size_t n = 1000 + random() % 400000;
          auto* p = static_cast<unsigned char*>(std::malloc(n));
          p[0] = p[n - 1] = static_cast<unsigned char>(t + 1);
          live.emplace_back(p, n);
        } else {
          const std::size_t i = random() % live.size();
          const auto [p, n] = live[i];
          if (p[0] != t + 1 || p[n - 1] != t + 1) std::abort();
          std::free(p);
          live.erase(live.begin() + static_cast<std::ptrdiff_t>(i));
        }
      }
      for (const auto& [p, n] : live) std::free(p);
    });
  for (auto& t : all) t.join();
}

// Writes of parent and child after a fork are invisible to the other, and both can allocate and free.
void forked() {
  std::vector<int> x(1 << 20, 1);
  int go[2], ready[2];
  if (pipe(go) != 0 || pipe(ready) != 0) return expect(false, "pipe");
  const pid_t child = fork();
  char byte = 0;
  if (child == 0) {
    expect(arena->view().bytes == 0, "a child offers an arena");
    x[5] = 2;
    if (write(ready[1], &byte, 1) != 1 || read(go[0], &byte, 1) != 1) _exit(2);
    expect(x[5] == 2 && x[6] == 1 && x.back() == 1, "a child sees what its parent wrote");
    { std::vector<int>().swap(x); }
    const std::vector<int> y(1 << 20, 3);
    expect(y.back() == 3, "a child cannot allocate");
    _exit(failures == 0 ? 0 : 1);
  }
  if (read(ready[0], &byte, 1) != 1) expect(false, "a child died");
  x[6] = 3;
  expect(x[5] == 1, "a parent sees what its child wrote");
  if (write(go[1], &byte, 1) != 1) expect(false, "a child died");
  int status = 1;
  expect(waitpid(child, &status, 0) == child && status == 0, "a child failed");
}

void full() {
  std::vector<std::unique_ptr<char[]>> all;
  int outside = 0;
  for (int k = 0; k < 40; ++k) {
    all.push_back(std::make_unique<char[]>(1 << 20));
    if (!arena->owns(all.back().get())) ++outside;
  }
  expect(outside > 20 && outside < 40, "a full arena does not leave the rest to the system");
  const auto s = arena->statistics();
  expect(s.refused >= 20 && s.used <= s.bound && s.bound == 8 << 20, "statistics of a full arena");
  all.clear();
  const auto again = std::make_unique<char[]>(4 << 20);
  expect(arena->owns(again.get()), "an arena that was emptied has no room");
}

char written[8 * kLarge], found[8 * kLarge];  // no allocations

// Prints, possibly with no standard output; then closes all descriptors, and opens files until they have had every
// number.
void guest() {
  {
    std::vector<char> a(kLarge, 7), b(kLarge, 7);
    for (int k = 0; k < 100000; ++k) std::printf("line %d\n", k);
    std::fflush(stdout);
    for (const auto* v : {&a, &b})
      expect((*v)[0] == 7 && std::memcmp(v->data(), v->data() + 1, kLarge - 1) == 0,
             "what was printed lies in the heap");
  }
  for (int fd = 3; fd < 2000; ++fd) close(fd);
  std::FILE* const scratch = std::tmpfile();
  for (int fd = 0; fd >= 0 && fd < 1100;) fd = dup(fileno(scratch));
  std::memset(written, 9, sizeof written);
  expect(pwrite(fileno(scratch), written, sizeof written, 0) == sizeof written, "a file cannot be written");
  void* volatile p = std::malloc(100 * kLarge);  // volatile: or the compiler sees that nobody needs it
  std::memset(p, 1, 100 * kLarge);
  std::free(p);
  expect(
      pread(fileno(scratch), found, sizeof found, 0) == sizeof found && std::memcmp(written, found, sizeof found) == 0,
      "a file of the program's changed");
}

}  // namespace

int main(int argc, char** argv) {
  using Get = const Interface* (*)();
  const auto get = reinterpret_cast<Get>(dlsym(RTLD_DEFAULT, "stretto_arena_interface"));
  if (get == nullptr) {
    std::fprintf(stderr, "libstretto_arena.so is not preloaded\n");
    return 1;
  }
  arena = get();
  if (argc > 1 && std::strcmp(argv[1], "full") == 0) {
    full();
  } else if (argc > 1 && std::strcmp(argv[1], "guest") == 0) {
    guest();
  } else {
    every_function();
    threads();
    forked();
  }
  return failures > 0;
}
