// Pages of the shared memory: which of them exist after a group is made, and after its first calls.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "../ranks.hpp"

namespace stretto::node {
namespace {

constexpr std::size_t kPage = 4096;

// Pages of [at, at + bytes) that hold memory; `at` begins a page.
std::vector<bool> pages(std::byte* at, std::size_t bytes) {
  std::vector<unsigned char> found((bytes + kPage - 1) / kPage);
  EXPECT_EQ(mincore(at, bytes, found.data()), 0);
  std::vector<bool> held;
  for (const unsigned char p : found) held.push_back((p & 1) != 0);
  return held;
}

// False before Linux 5.14, which has no such advice, and where shared memory comes in huge pages: then none of these
// tests applies.
bool maps_single_pages() {
  constexpr std::size_t bytes = std::size_t{4} << 20;
  constexpr int populate_write = 23;
  auto* const at =
      static_cast<std::byte*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const bool can = madvise(at, kPage, populate_write) == 0;
  const std::vector<bool> held = pages(at, bytes);
  munmap(at, bytes);
  return can && std::count(held.begin(), held.end(), true) == 1;
}

std::size_t pages_of_slots(Group& g) {
  std::size_t held = 0;
  for (std::size_t i = 0; i < kSlots; ++i) {
    const std::vector<bool> slot = pages(g.slot(i), g.slot_bytes());
    held += static_cast<std::size_t>(std::count(slot.begin(), slot.end(), true));
  }
  return held;
}

TEST(Pages, SlotHasThePagesThatWillBeFilledAndNoOthers) {
  if (!maps_single_pages()) return;
  on_groups(3, {}, [](Group& g) {
    g.will_fill(1, 5 * kPage + 7, 2 * kPage);
    g.will_fill(1, 5 * kPage, kPage);
    g.will_fill(5, 20 * kPage, 1);  // the slot of round 1 again
    for (std::size_t slot = 0; slot < kSlots; ++slot) {
      const std::vector<bool> held = pages(g.slot(slot), g.slot_bytes());
      for (std::size_t p = 0; p < held.size(); ++p) {
        const bool wanted = p == 0 || (slot == 1 && ((p >= 5 && p <= 7) || p == 20));
        EXPECT_EQ(held[p], wanted) << "page " << p << " of slot " << slot;
      }
    }
  });
}

TEST(Pages, UnitsOfALongSlotCoverItsEnd) {
  if (!maps_single_pages()) return;
  constexpr std::size_t slot = 1000 * 1024;
  on_groups(2, {.slot = slot}, [](Group& g) {
    g.will_fill(2, slot - 1, 1);
    g.will_fill(2, 0, slot);
    const std::vector<bool> held = pages(g.slot(2), slot);
    EXPECT_EQ(std::count(held.begin(), held.end(), true), std::ssize(held));
  });
}

// On one level a rank's slots hold the parts that others combine, and at most its own part besides.
TEST(Pages, FirstLongSumMapsFewPagesAndManySumsNoMoreThanUsed) {
  if (!maps_single_pages()) return;
  for (const auto& layout : {std::pair{2, GroupOptions{}.slot},
                             {3, GroupOptions{}.slot},
                             {5, GroupOptions{}.slot},
                             {2, slot_for(2)},
                             {3, slot_for(3)}}) {
    const int ranks = layout.first;
    SCOPED_TRACE(testing::Message() << ranks << " ranks, slots of " << layout.second << " bytes");
    Options options;
    options.group.slot = layout.second;
    options.group.cores = ranks;
    options.memory = {.process = false, .arena = false, .xpmem = false, .kernel = false};
    on_collectives(ranks, options, [&](Collectives& c) {
      constexpr std::size_t count = 128 * 1024, bytes = count * sizeof(float);
      c.use(Stores::plain);
      const std::vector<float> in(count, 1);
      std::vector<float> out(count);
      const auto sum = [&] {
        ASSERT_EQ(c.allreduce(in.data(), out.data(), count, payload::Type::f32, {}), Status::ok) << message();
        EXPECT_EQ(std::count(out.begin(), out.end(), static_cast<float>(ranks)), std::ssize(out));
      };
      const std::size_t before = pages_of_slots(c.group());
      sum();
      EXPECT_LE(pages_of_slots(c.group()), before + bytes / 4 / kPage + kSlots);
      for (int call = 0; call < 8; ++call) sum();
      // A half of two ranks' slots is never used.
      const std::size_t used = kSlots * c.group().slot_bytes() / (ranks == 2 ? 2 : 1);
      EXPECT_LE(pages_of_slots(c.group()), used / kPage + kSlots);
    });
  }
}

}  // namespace
}  // namespace stretto::node
