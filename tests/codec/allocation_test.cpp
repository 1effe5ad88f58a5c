// No function of the codec allocates, whether it succeeds or fails.
#include "../allocations.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "every_target.hpp"
#include "inputs.hpp"

namespace stretto::codec {
namespace {

// Runs f, a call of the codec, which must not allocate, and must succeed where it can.
template <class F>
void quiet(const char* what, bool can, F f) {
  Status s{};
  EXPECT_EQ(allocations_of([&] { s = f(); }), 0u) << what;
  EXPECT_TRUE(s == Status::ok || !can) << what << ": " << message();
}

// Every call on streams of x and y, with preallocated output: large enough, and half as long as the stream.
void expect_no_allocation(Type t, const void* x, const void* y, std::size_t n, double eps, const Options& o) {
  Stream a(compress_bound(t, n)), b(a.size()), out(2 * combine_bound(t, n)), values(n * size_of(t));
  std::size_t length_of_a = 0, length_of_b = 0, written = 0;
  quiet("compress", true, [&] { return compress(t, x, n, eps, a, &length_of_a, o); });
  quiet("compress", true, [&] { return compress(t, y, n, eps, b, &length_of_b, o); });
  const Bytes first = Bytes(a).first(length_of_a), second = Bytes(b).first(length_of_b);

  for (const bool all : {true, false}) {
    const MutableBytes to = MutableBytes(out).first(all ? out.size() : length_of_a / 2);
    quiet("compress", all, [&] { return compress(t, x, n, eps, to, &written, o); });
    for (const Combine op : {Combine::add, Combine::subtract, Combine::min, Combine::max})
      quiet("combine", all, [&] { return combine(op, first, second, to, &written, o); });
    quiet("add_values", all, [&] { return add_values(first, y, n, to, &written, o); });
    quiet("scale", all, [&] { return scale(first, -3, to, &written, o); });
    quiet("slice", all, [&] { return slice(first, n / 3, n / 2, to, &written, o); });
    quiet("concatenate", all, [&] { return concatenate(first, second, to, &written, o); });
  }
  for (const bool all : {true, false}) {
    const Bytes in = first.first(all ? length_of_a : length_of_a / 2);
    Info info;
    quiet("inspect", all, [&] { return inspect(in, &info); });
    quiet("validate", all, [&] { return validate(in); });
    quiet("decompress", all, [&] { return decompress(in, values.data(), n, o); });
    quiet("mean", all, [&] { return decompress(in, values.data(), n, o, 3); });
    quiet("decompress_slice", all, [&] { return decompress_slice(in, n / 3, n / 2, values.data(), o); });
  }
  double lo = 0, hi = 0;
  quiet("value_range", true, [&] { return value_range(t, x, n, &lo, &hi, o); });
}

// Repeats the calls for each instruction set, with a checksum, and in parts, which one thread runs in turns.
void expect_no_allocation_anyhow(Type t, const void* x, const void* y, std::size_t n, double eps) {
  Parallel turns;
  turns.width = 3;
  turns.run = [](void*, int parts, void (*task)(void*, int), void* arg) {
    for (int i = parts; i-- > 0;) task(arg, i);
  };
  const auto each_way = [&](Options o, const char* target) {
    SCOPED_TRACE(target);
    expect_no_allocation(t, x, y, n, eps, o);
    o.checksum = true;
    o.parallel = &turns;
    expect_no_allocation(t, x, y, n, eps, o);
  };
  each_way(with(Isa::reference), name(Isa::reference));
  on_every_instruction_set(each_way);
}

TEST(Allocation, TheCounterSeesNewAndMalloc) {
  EXPECT_EQ(allocations_of([] { static_cast<void>(std::vector<int>(1000).data()); }), 1u);
  EXPECT_EQ(allocations_of([] { std::free(std::malloc(100)); }), 1u);
  EXPECT_EQ(allocations_of([] {}), 0u);
}

template <class T>
class AllocationOf : public testing::Test {};
using Floats = testing::Types<float, double>;
TYPED_TEST_SUITE(AllocationOf, Floats);

TYPED_TEST(AllocationOf, EveryCallOnEveryInputIsNone) {
  const auto& all = inputs<TypeParam>();
  for (const auto& in : all) {
    SCOPED_TRACE(in.name);
    auto reversed = in.x;
    std::reverse(reversed.begin(), reversed.end());
    expect_no_allocation_anyhow(type_of<TypeParam>(), in.x.data(), reversed.data(), in.x.size(), in.eps);
  }
}

TYPED_TEST(AllocationOf, PartsOfALongVectorShareARoomWithoutAny) {
  const auto all = summands<TypeParam>(300000, 1e-3, 2, 5);
  expect_no_allocation_anyhow(type_of<TypeParam>(), all[0].data(), all[1].data(), all[0].size(), 1e-3);
}

TEST(Allocation, EveryCallOnHalvesAndIntegersIsNone) {
  Random random(9);
  std::vector<std::uint64_t> x(5000), y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = random.bits() & 0x00ff00ff00ff00ff;
    y[i] = random.bits() & 0x00ff00ff00ff00ff;
  }
  for (const Type t : {Type::f16, Type::bf16, Type::i32, Type::i64}) {
    SCOPED_TRACE(name(t));
    expect_no_allocation_anyhow(t, x.data(), y.data(), x.size(), 1e-3);
  }
}

TEST(Allocation, DenseStreamsTakeOneAThread) {
  const auto all = summands<float>(70000, 1e-3, 2, 5);
  Options o;
  o.coding = Coding::dense;
  Stream a(compress_bound(Type::f32, 70000)), out(2 * combine_bound(Type::f32, 70000));
  std::size_t length = 0, written = 0;
  Status s{};
  const auto compress_once = [&] { s = compress(Type::f32, all[0].data(), 70000, 1e-3, a, &length, o); };
  EXPECT_LE(allocations_of(compress_once), 2u);  // the workspace, and the record of its destructor at the thread's end
  EXPECT_EQ(allocations_of(compress_once), 0u);
  const Bytes first = Bytes(a).first(length);
  quiet("combine", true, [&] { return combine(Combine::add, first, first, out, &written, o); });
  quiet("add_values", true, [&] { return add_values(first, all[1].data(), 70000, out, &written, o); });
  quiet("slice", true, [&] { return slice(first, 100, 66000, out, &written, o); });
  quiet("decompress", true, [&] { return decompress(first, out.data(), 70000, o); });
  EXPECT_EQ(s, Status::ok);
}

}  // namespace
}  // namespace stretto::codec
