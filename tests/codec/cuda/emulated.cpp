#include "emulated.hpp"

#include <limits>
#include <memory>

#include "codec/cuda/add.hpp"
#include "codec/cuda/add_values.hpp"
#include "codec/cuda/block_emulated.hpp"
#include "codec/cuda/decompress.hpp"
#include "codec/cuda/dense/to_dense.hpp"
#include "codec/cuda/dense/to_fixed.hpp"
#include "codec/cuda/select.hpp"
#include "codec/dense/layout.hpp"
#include "codec/numbers/grid.hpp"
#include "codec/stream/format.hpp"
#include "turns.hpp"

namespace stretto::codec {
namespace {

using cuda::EmulatedWarp;

// Odd, so that tiles and chunks of the index do not meet.
constexpr int kWarps = 4;  // divides a chunk, as SumWriter asks

static_assert(cuda::kGroup == kGroup && cuda::kBlock == kBlock && cuda::kChunk == kChunk &&
              cuda::kHeaderBytes == kHeaderBytes && cuda::kMaxGroupWords == kMaxGroupWords &&
              cuda::kMaxCount == kMaxCount && cuda::kNarrowLimit == kNarrowLimit && cuda::kCodeLimit == kCodeLimit &&
              cuda::kSingleLimit == kSingleLimit && cuda::kVerbatimWord == kVerbatimWord);
static_assert(cuda::dense::kProbabilityBits == dense::kProbabilityBits &&
              cuda::dense::kStateBits == dense::kStateBits && cuda::dense::kLeastState == dense::kLeastState &&
              cuda::dense::kTwoSetsBit == dense::kTwoSetsBit &&
              cuda::dense::kBlocksForTwoSets == dense::kBlocksForTwoSets &&
              cuda::dense::kMaxWidth == dense::kMaxWidth && 4 * cuda::dense::kMostGroupWords == dense::kMaxGroupBytes &&
              cuda::dense::kLongWidth == dense::kLongWidth && cuda::dense::kVerbatimWidth == dense::kVerbatimWidth &&
              cuda::dense::kDenseBit == kDenseBit);
static_assert(static_cast<int>(cuda::Outcome::unsupported) == static_cast<int>(Status::unsupported) &&
              static_cast<int>(cuda::Outcome::overflow) == static_cast<int>(Status::overflow) &&
              static_cast<int>(cuda::Outcome::incompatible) == static_cast<int>(Status::incompatible) &&
              static_cast<int>(cuda::Outcome::corrupt_stream) == static_cast<int>(Status::corrupt_stream) &&
              static_cast<int>(cuda::Outcome::buffer_too_small) == static_cast<int>(Status::buffer_too_small));

// Streams begin at a multiple of 8 bytes, which vectors of bytes of this size do.
cuda::StreamRef ref(const Stream& s) { return {reinterpret_cast<const cuda::u8*>(s.data()), s.size()}; }

// Runs f(block) on every block.
template <class C, class F>
void on_blocks(Order order, F f) {
  const auto blocks = static_cast<cuda::u64>(order.blocks);
  const auto one = [&](int i) {
    const auto block = std::make_unique<cuda::EmulatedBlock<C, kWarps>>(static_cast<cuda::u64>(i), blocks);
    f(*block);
  };
  if (order.seed == 0)
    for (int i = 0; i < order.blocks; ++i) one(i);
  else
    Turns::run(order.blocks, order.seed, one);
}

template <class T, class Op>
Emulated write_stream(const Op& op, std::size_t count, std::size_t capacity, Order order) {
  Emulated r;
  r.stream.resize(capacity, before());
  std::vector<cuda::u64> descriptors(cuda::layout_of(count).groups + 1);
  cuda::Control control{};
  cuda::Result result{};
  const cuda::Output out{
      reinterpret_cast<cuda::u8*>(r.stream.data()), capacity, count, &control, descriptors.data(), &result};
  on_blocks<cuda::Code<T>>(order, [&](auto& block) {
    Op own = op;
    using Block = std::decay_t<decltype(block)>;
    if constexpr (std::is_same_v<Op, cuda::Compress<EmulatedWarp, float>>)
      cuda::StagedWriter<Block, Op>(block, own, out).run();
    else if constexpr (std::is_same_v<Op, cuda::AddStreams<EmulatedWarp, T>> ||
                       std::is_same_v<Op, cuda::AddValues<EmulatedWarp, T>>)
      cuda::SumWriter<Block, Op>(block, own, out).run();
    else
      cuda::StreamWriter<Block, Op>(block, own, out).run();
  });
  r.outcome = static_cast<cuda::Outcome>(result.outcome);
  r.stream.resize(result.bytes);
  return r;
}

template <class T, class Op, class Done>
cuda::Result run_groups(const Op& op, std::size_t count, Order order, Done done) {
  cuda::Control control{};
  cuda::Result result{};
  on_blocks<cuda::Code<T>>(order, [&](auto& block) {
    Op own = op;
    cuda::each_group(block, own, count, &control, &result, done);
  });
  return result;
}

}  // namespace

template <class T>
Emulated emulated_compress(Type t, const void* x, std::size_t n, double eps, Order order, std::size_t capacity) {
  cuda::Compress<EmulatedWarp, T> op{};
  op.x = {x, static_cast<cuda::Type>(t)};
  op.header = {static_cast<cuda::Type>(t), 1, n, 0, 0, 0, eps, grid_width(t, eps, 0)};
  return write_stream<T>(op, n, capacity ? capacity : compress_bound(t, n), order);
}

template <class T>
Emulated emulated_combine(Combine op, const Stream& a, const Stream& b, Order order, std::size_t capacity) {
  const Info info = info_of(a);
  if (capacity == 0) capacity = combine_bound(info.type, info.count);
  if (op == Combine::add || op == Combine::subtract) {
    cuda::AddStreams<EmulatedWarp, T> sum{};
    sum.a = ref(a);
    sum.b = ref(b);
    sum.count = info.count;
    sum.negate = op == Combine::subtract;
    return write_stream<T>(sum, info.count, capacity, order);
  }
  cuda::Select<EmulatedWarp, T> select{};
  select.a = ref(a);
  select.b = ref(b);
  select.count = info.count;
  select.maximum = op == Combine::max;
  return write_stream<T>(select, info.count, capacity, order);
}

template <class T>
Emulated emulated_add_values(const Stream& a, const void* x, std::size_t n, bool two_kernels, Order order,
                             std::size_t capacity) {
  const Info info = info_of(a);
  const auto type = static_cast<cuda::Type>(info.type);
  cuda::AddValues<EmulatedWarp, T> sum{};
  std::vector<cuda::Code<T>> codes(n);
  if (two_kernels) {
    cuda::Quantise<EmulatedWarp, T> q{};
    q.x = {x, type};
    q.count = n;
    q.eps = info.eps;
    q.width = info.width;
    q.q = codes.data();
    run_groups<T>(q, n, order, [](cuda::Control*) { return cuda::u64{0}; });
    sum.quantised = codes.data();
  }
  sum.a = ref(a);
  sum.x = {x, type};
  sum.count = n;
  return write_stream<T>(sum, n, capacity ? capacity : combine_bound(info.type, n), order);
}

template <class T>
cuda::Outcome emulated_decompress(const Stream& a, void* y, std::size_t n, std::uint32_t divisor, Order order) {
  cuda::Decompress<EmulatedWarp, T> op{};
  op.s = ref(a);
  op.y = y;
  op.type = a.size() > 5 ? static_cast<cuda::Type>(static_cast<std::uint8_t>(a[5])) : cuda::Type::f32;
  op.count = n;
  op.divisor = divisor;
  return static_cast<cuda::Outcome>(run_groups<T>(op, n, order, [](cuda::Control*) { return cuda::u64{0}; }).outcome);
}

namespace {

template <class Op>
Emulated recoded(const Stream& a, Order order, std::size_t capacity) {
  const Info info = info_of(a);
  Op op{};
  op.s = ref(a);
  op.count = info.count;
  op.type = static_cast<cuda::Type>(info.type);
  Emulated r;
  r.stream.resize(capacity ? capacity : combine_bound(info.type, info.count), before());
  std::vector<cuda::u64> descriptors(cuda::layout_of(info.count).chunks + 1);
  cuda::Control control{};
  cuda::Result result{};
  const cuda::Output out{
      reinterpret_cast<cuda::u8*>(r.stream.data()), r.stream.size(), info.count, &control, descriptors.data(), &result};
  on_blocks<cuda::u32>(order, [&](auto& block) {
    Op own = op;
    cuda::dense::ChunkWriter<std::decay_t<decltype(block)>, Op>(block, own, out).run();
  });
  r.outcome = static_cast<cuda::Outcome>(result.outcome);
  r.stream.resize(result.bytes);
  return r;
}

}  // namespace

template <class T>
Emulated emulated_recoded(const Stream& a, bool dense, Order order, std::size_t capacity) {
  return dense ? recoded<cuda::dense::ToDense<EmulatedWarp, T>>(a, order, capacity)
               : recoded<cuda::dense::ToFixed<EmulatedWarp, T>>(a, order, capacity);
}

template <class T>
std::uint64_t emulated_range(Type t, const void* x, std::size_t n, double above, double* lo, double* hi) {
  cuda::u64 found[3] = {};
  cuda::Range<EmulatedWarp, T> op{};
  op.x = {x, static_cast<cuda::Type>(t)};
  op.count = n;
  op.above = above;
  op.found = found;
  run_groups<T>(op, n, {}, [](cuda::Control*) { return cuda::u64{0}; });
  *lo = found[0] ? cuda::unordered(~found[0]) : std::numeric_limits<double>::infinity();
  *hi = found[1] ? cuda::unordered(found[1]) : -std::numeric_limits<double>::infinity();
  return found[2];
}

std::vector<std::uint64_t> emulated_offsets(const std::vector<std::uint64_t>& sums, std::uint64_t seed) {
  std::vector<std::uint64_t> offsets(sums.size()), descriptors(sums.size());
  Turns::run(static_cast<int>(sums.size()), seed, [&](int i) {
    const auto k = static_cast<std::size_t>(i);
    offsets[k] = cuda::look_back<EmulatedWarp>(descriptors.data(), k, sums[k]);
  });
  return offsets;
}

template Emulated emulated_compress<float>(Type, const void*, std::size_t, double, Order, std::size_t);
template Emulated emulated_compress<double>(Type, const void*, std::size_t, double, Order, std::size_t);
template Emulated emulated_combine<float>(Combine, const Stream&, const Stream&, Order, std::size_t);
template Emulated emulated_combine<double>(Combine, const Stream&, const Stream&, Order, std::size_t);
template Emulated emulated_add_values<float>(const Stream&, const void*, std::size_t, bool, Order, std::size_t);
template Emulated emulated_add_values<double>(const Stream&, const void*, std::size_t, bool, Order, std::size_t);
template cuda::Outcome emulated_decompress<float>(const Stream&, void*, std::size_t, std::uint32_t, Order);
template cuda::Outcome emulated_decompress<double>(const Stream&, void*, std::size_t, std::uint32_t, Order);
template Emulated emulated_recoded<float>(const Stream&, bool, Order, std::size_t);
template Emulated emulated_recoded<double>(const Stream&, bool, Order, std::size_t);
template std::uint64_t emulated_range<float>(Type, const void*, std::size_t, double, double*, double*);
template std::uint64_t emulated_range<double>(Type, const void*, std::size_t, double, double*, double*);

}  // namespace stretto::codec
