#include <cmath>

#include "../support.hpp"

namespace stretto::codec {
namespace {

// Small streams with every part a stream can have.
std::vector<Stream> samples(bool checksum) {
  Options o;
  o.checksum = checksum;
  std::vector<Stream> all;
  std::vector<float> x(140);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * i) * 0.01f;
  all.push_back(compressed(x, 1e-2, o));
  x[3] = x[77] = 1e20f;
  x[78] = -INFINITY;
  all.push_back(compressed(x, 1e-2, o));
  all.push_back(combined(Combine::add, all[0], all[1], o));
  all.push_back(combined(Combine::add, compressed(std::vector<float>(70, 1500.0f), 5e-7),
                         compressed(std::vector<float>(70, 1500.0f), 5e-7), o));
  Random r(3);
  for (auto& v : x) v = static_cast<float>(1e30 * r.symmetric());
  all.push_back(compressed(x, 1e-2, o));
  std::vector<std::int64_t> n(70);
  for (std::size_t i = 0; i < n.size(); ++i) n[i] = static_cast<std::int64_t>(i) << 40;
  all.push_back(compressed(n, 0, o));
  all.push_back(compressed(std::vector<double>{}, 1e-3, o));
  // Dense chunks: mostly small steps.
  o.coding = Coding::dense;
  std::vector<float> steps(1100);
  for (auto& v : steps) v = static_cast<float>(r.below(8) ? r.below(2) : r.below(64));
  all.push_back(compressed(steps, 0.5, o));
  for (std::size_t i = 100; i < 120; ++i) steps[i] = NAN;
  steps[700] = 1e20f;
  all.push_back(compressed(steps, 0.5, o));
  return all;
}

// Calls every reader of a stream; each must return, and stay inside buffers of the exact size (sanitizers check). True
// if the stream was accepted.
bool read_all(const Stream& s) {
  Info info;
  if (inspect(s, &info) != Status::ok || info.count > 5000) return false;
  const bool valid = validate(s) == Status::ok;
  for (const Isa isa : isas()) {
    std::vector<std::byte> y(size_of(info.type) * info.count);
    const Status st = decompress(s, y.data(), info.count, with(isa));
    EXPECT_TRUE(!valid || st == Status::ok || st == Status::overflow) << message();
    Stream out(combine_bound(info.type, info.count));
    std::size_t written = 0;
    for (const Combine op : {Combine::add, Combine::subtract, Combine::min, Combine::max})
      (void)combine(op, s, s, out, &written, with(isa));
    (void)scale(s, -3, out, &written, with(isa));
    (void)slice(s, info.count / 3, info.count / 2, out, &written, with(isa));
    (void)add_values(s, y.data(), info.count, out, &written, with(isa));
  }
  return valid;
}

TEST(Damage, AStreamCutAnywhereIsRefused) {
  for (const bool checksum : {false, true})
    for (const Stream& s : samples(checksum))
      for (std::size_t n = 0; n < s.size(); ++n) {
        const Stream cut(s.begin(), s.begin() + static_cast<std::ptrdiff_t>(n));
        Info info;
        std::vector<std::byte> y(8 * 2000);
        ASSERT_EQ(inspect(cut, &info), Status::corrupt_stream) << n;
        ASSERT_EQ(validate(cut), Status::corrupt_stream) << n;
        ASSERT_EQ(decompress(cut, y.data(), info_of(s).count), Status::corrupt_stream) << n;
        ASSERT_NE(std::string(message()), "");
      }
}

TEST(Damage, AStreamWithMoreBehindItIsRead) {
  for (Stream s : samples(true)) {
    s.resize(s.size() + 13, std::byte{0x5a});
    EXPECT_EQ(validate(s), Status::ok) << message();
  }
}

TEST(Damage, AnySingleBitFlippedGivesAnErrorOrValues) {
  for (const Stream& s : samples(false)) {
    ASSERT_TRUE(read_all(s));
    const std::size_t step = info_of(s).count > 1000 ? 29 : 1;  // of long ones, one bit of 29
    for (std::size_t bit = 0; bit < 8 * s.size(); bit += step) {
      Stream t = s;
      t[bit / 8] ^= std::byte{1} << (bit % 8);
      read_all(t);
    }
  }
}

TEST(Damage, AnyByteReplacedGivesAnErrorOrValues) {
  Random r(9);
  for (const Stream& s : samples(false))
    for (std::size_t at = 0; at < s.size(); ++at) {
      Stream t = s;
      t[at] = static_cast<std::byte>(r.bits());
      if (r.below(2)) t[r.below(t.size())] = static_cast<std::byte>(r.bits());
      read_all(t);
    }
}

TEST(Damage, TheChecksumDetectsEverySingleBit) {
  for (const Stream& s : samples(true)) {
    ASSERT_EQ(validate(s), Status::ok) << message();
    ASSERT_TRUE(info_of(s).checksum);
    std::vector<std::byte> y(8 * 2000);
    for (std::size_t bit = 0; bit < 8 * s.size(); ++bit) {
      Stream t = s;
      t[bit / 8] ^= std::byte{1} << (bit % 8);
      ASSERT_EQ(validate(t), Status::corrupt_stream) << bit;
      ASSERT_NE(decompress(t, y.data(), info_of(s).count), Status::ok) << bit;
    }
  }
}

TEST(Damage, TheChecksumDoesNotChangeTheRest) {
  const auto plain = samples(false), summed = samples(true);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    ASSERT_EQ(plain[i].size(), summed[i].size());
    for (std::size_t k = 0; k < plain[i].size(); ++k)
      if (k != 6 && (k < 36 || k >= 40)) {
        ASSERT_EQ(plain[i][k], summed[i][k]) << k;
      }
  }
}

}  // namespace
}  // namespace stretto::codec
