// Which forms a value has after each meeting, and that they say the same.
#include "payload/worker.hpp"
#include "payload/host_executor.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "payload/arithmetic/half.hpp"

namespace stretto::payload {
namespace {

constexpr std::size_t kN = 3000;
constexpr double kEps = 1e-3;

std::vector<float> wave(float phase) {
  std::vector<float> v(kN);
  for (std::size_t i = 0; i < kN; ++i) v[i] = std::sin(static_cast<float>(i) * 0.01F + phase);
  return v;
}

struct Bench {
  explicit Bench(Kind kind, Op op = Op::sum, bool reduces = true) {
    Spec spec;
    spec.kind = kind;
    spec.op = op;
    spec.eps = kEps;
    host.begin(spec, &pool, nullptr);
    worker.begin(spec, reduces, &host);
  }
  Cell empty() {
    Cell c;
    c.eps = kEps;
    c.count = kN;
    c.lane = &host.lane();
    return c;
  }
  Cell cell(const std::vector<float>& x, std::vector<float>& home) {
    Cell c = empty();
    c.home = reinterpret_cast<std::byte*>(home.data());
    c.value.raw = reinterpret_cast<const std::byte*>(x.data());
    c.value.raw_fixed = true;
    return c;
  }
  Stream sent(const std::vector<float>& x) {
    std::vector<float> none(kN);
    Cell c = cell(x, none);
    EXPECT_EQ(worker.pack(c), Status::ok);
    return c.value.stream;
  }

  Pool pool;
  HostExecutor host;
  Worker worker;
};

std::vector<std::byte> bytes_of(const Stream& s) { return {s.bytes().begin(), s.bytes().end()}; }

TEST(Worker, FusedSkipsLocalCompressionAndMatchesHomomorphic) {
  const auto x = wave(0), y = wave(1);
  std::vector<std::byte> sums[2];
  for (const Kind kind : {Kind::homomorphic, Kind::fused}) {
    Bench b(kind);
    std::vector<float> out(kN, -5);
    Cell c = b.cell(x, out);
    const Stream arrived = b.sent(y);
    const double before = b.worker.seconds().compress;
    ASSERT_EQ(b.worker.meet(c, arrived, false), Status::ok);
    EXPECT_EQ(b.worker.seconds().compress > before, kind == Kind::homomorphic);
    EXPECT_EQ(c.value.raw, nullptr);
    EXPECT_EQ(out[0], -5);  // nothing is unfolded on the way
    sums[kind == Kind::fused] = bytes_of(c.value.stream);
    ASSERT_EQ(b.worker.finish(c, true, 1), Status::ok);
    for (std::size_t i = 0; i < kN; ++i) EXPECT_NEAR(out[i], x[i] + y[i], 2 * kEps + 1e-6);
  }
  EXPECT_EQ(sums[0], sums[1]);
}

TEST(Worker, ForwardsArrivedStreamsUnchangedExceptUnderCprp2p) {
  const auto x = wave(2);
  for (const Kind kind : {Kind::cprp2p, Kind::recompress, Kind::homomorphic, Kind::fused}) {
    Bench b(kind, Op::sum, false);
    std::vector<float> out(kN);
    Cell c = b.empty();
    c.home = reinterpret_cast<std::byte*>(out.data());
    const Stream arrived = b.sent(x);
    const std::byte* at = arrived.bytes().data();
    const double before = b.worker.seconds().compress;
    ASSERT_EQ(b.worker.replace(c, arrived), Status::ok);
    ASSERT_EQ(b.worker.pack(c), Status::ok);
    EXPECT_EQ(c.value.stream.bytes().data() == at, kind != Kind::cprp2p);
    EXPECT_EQ(b.worker.seconds().compress > before, kind == Kind::cprp2p);
    ASSERT_EQ(b.worker.finish(c, true, 1), Status::ok);
    for (std::size_t i = 0; i < kN; ++i) EXPECT_NEAR(out[i], x[i], kEps);
  }
}

TEST(Worker, CompressesAValueOnceHoweverOftenItIsSent) {
  const auto x = wave(0);
  for (const Kind kind : {Kind::recompress, Kind::homomorphic, Kind::fused}) {
    Bench b(kind);
    std::vector<float> out(kN);
    Cell c = b.cell(x, out);
    ASSERT_EQ(b.worker.pack(c), Status::ok);
    const double once = b.worker.seconds().compress;
    ASSERT_EQ(b.worker.pack(c), Status::ok);
    EXPECT_EQ(b.worker.seconds().compress, once);
  }
}

TEST(Worker, SharesValuesThatNobodyWritesAndCopiesOthers) {
  const auto x = wave(0);
  Bench b(Kind::raw);
  std::vector<float> out(kN), more(kN);
  Cell in = b.cell(x, out), dst = b.empty(), third = b.empty();
  dst.home = reinterpret_cast<std::byte*>(out.data());
  third.home = reinterpret_cast<std::byte*>(more.data());
  ASSERT_EQ(b.worker.copy(dst, in), Status::ok);
  EXPECT_EQ(dst.value.raw, reinterpret_cast<const std::byte*>(x.data()));
  dst.value.raw = dst.home;
  dst.value.raw_fixed = false;
  out = x;
  ASSERT_EQ(b.worker.copy(third, dst), Status::ok);
  EXPECT_EQ(third.value.raw, third.home);
  EXPECT_EQ(more, x);
}

// Lone spikes are raised by the parabola's second differences into the blocks of zeros next to them.
TEST(Worker, ASumThatOutgrowsBothSummandsFindsRoom) {
  constexpr std::size_t many = 65536;
  std::vector<float> spikes(many), parabolas(many), out(many);
  for (std::size_t i = 0; i < many; ++i) {
    const auto k = static_cast<float>(i % 1024);
    spikes[i] = i % 64 == 31 ? 1000.0F : 0.0F;
    parabolas[i] = k * k * 1e-3F;
  }
  for (const Kind kind : {Kind::homomorphic, Kind::fused}) {
    Bench b(kind);
    const auto cell = [&](const std::vector<float>& x) {
      Cell c = b.cell(x, out);
      c.count = many;
      EXPECT_EQ(b.worker.pack(c), Status::ok);
      return c;
    };
    Cell c = cell(spikes);
    const Stream arrived = cell(parabolas).value.stream;
    const std::size_t both = c.value.stream.size + arrived.size;
    ASSERT_EQ(b.worker.meet(c, arrived, false), Status::ok) << message();
    EXPECT_GT(c.value.stream.size, both);
    ASSERT_EQ(b.worker.finish(c, true, 1), Status::ok);
    for (std::size_t i = 0; i < many; ++i) ASSERT_NEAR(out[i], spikes[i] + parabolas[i], 2 * kEps + 1e-4);
  }
}

TEST(Worker, AnAbsentContributionIsTheNeutralElement) {
  const auto x = wave(0);
  for (const Kind kind : {Kind::recompress, Kind::homomorphic, Kind::fused}) {
    Bench b(kind);
    std::vector<float> out(kN), want(kN);
    const Stream arrived = b.sent(x);
    ASSERT_EQ(codec::decompress(arrived.bytes(), want.data(), kN), Status::ok);
    Cell c = b.empty();
    c.home = reinterpret_cast<std::byte*>(out.data());
    ASSERT_EQ(b.worker.load(c, nullptr, 0, false), Status::ok);
    EXPECT_TRUE(c.value.absent);
    ASSERT_EQ(b.worker.meet(c, arrived, false), Status::ok);
    EXPECT_FALSE(c.value.absent);
    ASSERT_EQ(b.worker.meet(c, Stream{}, false), Status::ok);
    ASSERT_EQ(b.worker.finish(c, true, 1), Status::ok);
    EXPECT_EQ(out, want);
  }
}

std::vector<float> halved(std::vector<float> x) {
  for (float& v : x) v = widen(narrow_bf16(v));
  return x;
}

TEST(Worker, Bfloat16RoundsEachMessageAndTheResultAndAddsInFloat32) {
  const auto x = wave(0), y = wave(1);
  Bench b(Kind::bfloat16);
  std::vector<float> out(kN, -5), other(kN);
  Cell c = b.cell(x, out);
  const Stream arrived = b.sent(y);
  EXPECT_EQ(arrived.size, 2 * kN);
  EXPECT_EQ(b.worker.message_bound(kN), 2 * kN);
  ASSERT_EQ(b.worker.meet(c, arrived, false), Status::ok);
  std::vector<float> sum = halved(y);
  for (std::size_t i = 0; i < kN; ++i) sum[i] += x[i];
  EXPECT_EQ(std::memcmp(c.value.raw, sum.data(), kN * sizeof(float)), 0);  // nothing is rounded yet
  ASSERT_EQ(b.worker.pack(c), Status::ok);
  Cell last = b.empty();
  last.home = reinterpret_cast<std::byte*>(other.data());
  ASSERT_EQ(b.worker.replace(last, c.value.stream), Status::ok);
  ASSERT_EQ(b.worker.finish(last, true, 1), Status::ok);
  ASSERT_EQ(b.worker.finish(c, true, 1), Status::ok);
  EXPECT_EQ(out, halved(sum));
  EXPECT_EQ(other, out);
}

TEST(Worker, Bfloat16MeansDivideTheRoundedSumInFloat32) {
  const auto x = wave(3);
  Bench b(Kind::bfloat16, Op::mean);
  std::vector<float> out(kN);
  Cell c = b.cell(x, out);
  ASSERT_EQ(b.worker.finish(c, true, 3), Status::ok);
  auto want = halved(x);
  for (float& v : want) v /= 3;
  EXPECT_EQ(out, want);
}

// A block without a header has no mark of absence.
TEST(Worker, Bfloat16OfNoContributionsIsZero) {
  Bench b(Kind::bfloat16);
  std::vector<float> out(kN, -5);
  Cell c = b.empty();
  c.home = reinterpret_cast<std::byte*>(out.data());
  ASSERT_EQ(b.worker.load(c, nullptr, 0, false), Status::ok);
  ASSERT_EQ(b.worker.finish(c, true, 1), Status::ok);
  EXPECT_EQ(out, std::vector<float>(kN, 0));
}

TEST(Worker, ABlockThatNothingWasPutIntoIsAnError) {
  for (const Kind kind : {Kind::raw, Kind::fused}) {
    Bench b(kind);
    Cell c = b.empty();
    EXPECT_EQ(b.worker.pack(c), Status::internal);
  }
}

}  // namespace
}  // namespace stretto::payload
