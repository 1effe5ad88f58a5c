#include "node/memory/xpmem.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "../cases.hpp"
#include "../ranks.hpp"

namespace stretto::node {
namespace {

long ask(const char* name) {
  static void* const library = dlopen(STAND_IN_XPMEM, RTLD_NOW);
  return reinterpret_cast<long (*)()>(dlsym(library, name))();
}

TEST(Xpmem, MissingLibraryOrFunctionIsNoError) {
  std::string why;
  EXPECT_EQ(Xpmem::load("libnone-of-this-name.so", &why), nullptr);
  EXPECT_NE(why.find("libnone-of-this-name.so"), std::string::npos);
  EXPECT_EQ(Xpmem::load("libc.so.6", &why), nullptr);
  EXPECT_NE(why.find("lacks a function"), std::string::npos);
}

TEST(Xpmem, RefusingModuleNamesTheReason) {
  setenv("STAND_IN_XPMEM_REFUSES", "1", 1);
  std::string why;
  EXPECT_EQ(Xpmem::load(STAND_IN_XPMEM, &why), nullptr);
  EXPECT_NE(why.find("Permission denied"), std::string::npos) << why;
  unsetenv("STAND_IN_XPMEM_REFUSES");
}

std::ptrdiff_t descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
}

// A copy, loaded only by the tested code.
TEST(Xpmem, ManyCommunicatorsOpenTheDeviceOnce) {
  const std::string copy = testing::TempDir() + "stand_in_xpmem." + std::to_string(getpid()) + ".so";
  std::filesystem::copy_file(STAND_IN_XPMEM, copy);
  const std::ptrdiff_t before = descriptors();
  std::string why;
  for (int k = 0; k < 10; ++k) EXPECT_NE(Xpmem::load(copy.c_str(), &why), nullptr) << why;
  EXPECT_EQ(descriptors(), before + 1);
  std::filesystem::remove(copy);
}

TEST(Xpmem, RangesStayAttachedUntilEvictionOrTheEnd) {
  std::string why;
  auto x = Xpmem::load(STAND_IN_XPMEM, &why);
  ASSERT_NE(x, nullptr) << why;
  ASSERT_TRUE(x->open({x->segment()}, &why)) << why;
  std::vector<char> memory(400 * 8192);
  const auto address = [&](std::size_t i) { return reinterpret_cast<std::uintptr_t>(memory.data()) + i * 8192 + 13; };
  const long before = ask("stand_in_calls");
  std::byte* first = x->reach(0, address(0), 5000);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first), address(0));
  EXPECT_EQ(x->reach(0, address(0) + 100, 1000), first + 100) << "a part of what is attached";
  EXPECT_EQ(ask("stand_in_calls"), before + 1);
  for (std::size_t i = 0; i < 400; ++i) ASSERT_NE(x->reach(0, address(i), 4096), nullptr);
  EXPECT_LE(x->attached(), x->limit());
  EXPECT_EQ(static_cast<std::size_t>(ask("stand_in_attached")), x->attached());
  x.reset();
  EXPECT_EQ(ask("stand_in_attached"), 0);
  EXPECT_EQ(ask("stand_in_held"), 0);
}

TEST(Xpmem, CollectivesMapPrivateBuffers) {
  for (const int ranks : {2, 5})
    on_exchanges(ranks, [](Exchange& exchange) {
      Options options;
      options.group.slot = 4096;
      options.eager = options.eager_reduce = 256;
      options.direct = 1024;
      options.memory.process = options.memory.arena = false;
      options.memory.xpmem_library = STAND_IN_XPMEM;
      std::unique_ptr<Collectives> c;
      ASSERT_EQ(Collectives::create(exchange, options, &c), Status::ok) << message();
      EXPECT_TRUE(c->memory().usable(Access::xpmem)) << c->memory().reason(Access::xpmem);
      cases::Cases cases(*c, {});
      for (const std::size_t n : {12, 1000, 9001}) cases.all(n);
      EXPECT_EQ(cases.failures(), 0);
      EXPECT_GT(c->counters().mapped, 0u);
      EXPECT_EQ(c->counters().copyable, 0u);
      ASSERT_EQ(agree(exchange, Status::ok), Status::ok);
    });
  EXPECT_EQ(ask("stand_in_held"), 0);
}

Options of_xpmem(bool kernel) {
  Options options;
  options.group.slot = 4096;
  options.eager = 256;
  options.direct = 1024;
  options.memory.process = options.memory.arena = false;
  options.memory.kernel = kernel;
  options.memory.xpmem_library = STAND_IN_XPMEM;
  return options;
}

// A readable page that process_vm_readv refuses: vvar, which maps the kernel's own memory like a device's.
const std::byte* without_pages() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.ends_with("[vvar]")) return reinterpret_cast<const std::byte*>(std::stoull(line, nullptr, 16));
  return nullptr;
}

TEST(Xpmem, MemoryWithoutPagesIsNotAttached) {
  const std::byte* const none = without_pages();
  if (none == nullptr) GTEST_SKIP() << "no such memory here";
  static const std::vector<std::byte> some(9000);
  EXPECT_TRUE(has_pages(some.data(), some.size()) && has_pages(some.data(), 1) && has_pages(nullptr, 0));
  EXPECT_FALSE(has_pages(none, 1));
  EXPECT_FALSE(has_pages(none, 4096));
  on_collectives(2, of_xpmem(false), [&](Collectives& c) {
    EXPECT_EQ(c.memory().expose(some.data(), some.size(), false).access, Access::xpmem);
    EXPECT_EQ(c.memory().expose(none, 4096, true).access, Access::staged);
  });
}

void tell_stand_in(const char* function, bool yes) {
  static void* const library = dlopen(STAND_IN_XPMEM, RTLD_NOW);
  reinterpret_cast<void (*)(bool)>(dlsym(library, function))(yes);
}

// Makes the stand-in refuse to attach anything, while it lives.
struct NoRoom {
  NoRoom() { tell_stand_in("stand_in_refuse_to_attach", true); }
  ~NoRoom() { tell_stand_in("stand_in_refuse_to_attach", false); }
};

TEST(Xpmem, KernelCopiesUnattachableMemory) {
  const NoRoom none;
  on_collectives(3, of_xpmem(true), [](Collectives& c) {
    ASSERT_TRUE(c.memory().usable(Access::xpmem) && c.memory().usable(Access::kernel))
        << c.memory().reason(Access::kernel);
    cases::Cases cases(c, {});
    for (const std::size_t n : {1000, 9001}) cases.all(n);
    EXPECT_EQ(cases.failures(), 0);
  });
}

TEST(Xpmem, UnreachableMemoryMovesThroughSlots) {
  const NoRoom none;
  on_collectives(3, of_xpmem(false), [](Collectives& c) {
    cases::Cases cases(c, {});
    for (const std::size_t n : {1024, 9001}) {
      cases.bcast(n, 1);
      cases.gather(n, 2);
      cases.scatter(n, 0);
      cases.allgather(n, true);
      cases.alltoall(n, false);
    }
    EXPECT_EQ(cases.failures(), 0);
    EXPECT_GT(c.counters().refused, 0u);
  });
}

// Ranks below a refused rank can attach its buffer, and must not read there before its own blocks have come.
TEST(Xpmem, ARefusedRankOfATreePassesOnABroadcastThatCameLater) {
  Options options = of_xpmem(false);
  const std::vector<std::vector<int>> labels{{0, 0, 1, 1, 1, 2, 2}, {0, 0, 0, 0, 0, 1, 1}};
  ASSERT_EQ(Hierarchy::from_labels(labels, 7, &options.hierarchy), Status::ok);
  on_collectives(7, options, [](Collectives& c) {
    const bool refused = c.rank() == 2 || c.rank() == 5;  // these lead groups
    tell_stand_in("stand_in_refuse_this_thread", refused);
    cases::Cases cases(c, {});
    for (int root = 0; root < 7; ++root) cases.bcast(9001, root);
    EXPECT_EQ(cases.failures(), 0);
    EXPECT_GE(c.counters().refused, refused ? 6U : 0U);
  });
}

TEST(Xpmem, AllRanksReportAReductionOfUnreachableMemory) {
  const NoRoom none;
  on_collectives(3, of_xpmem(false), [](Collectives& c) {
    std::vector<float> in(9000, 1), out(9000);
    EXPECT_EQ(c.allreduce(in.data(), out.data(), in.size(), payload::Type::f32, {payload::Op::sum}),
              Status::unsupported);
    const std::string why = message();
    EXPECT_NE(why.find("xpmem_attach of "), std::string::npos) << why;
    EXPECT_NE(why.find("Cannot allocate memory"), std::string::npos) << why;
  });
}

}  // namespace
}  // namespace stretto::node
