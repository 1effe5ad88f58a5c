// One data set in stretto's codec at one bound: the timed operations, and the check of their results.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <span>
#include <string>

#include "bench/codec/buffer.hpp"
#include "bench/codec/call.hpp"
#include "bench/codec/contest.hpp"
#include "timing/data.hpp"

namespace stretto::bench {

inline constexpr std::array<const char*, 4> kOperations{"compress", "decompress", "add", "add_values"};

// The second summand: the data from a third on, so that missing data differ in place; or three quarters of each present
// value. Then missing data have equal places, as in ranks' parts of one domain.
enum class Other : std::uint8_t { from_a_third, same_places };

template <class T>
class Ours {
 public:
  // Loads `count` values: `values` tiled, and the second summand.
  void load(std::span<const T> values, std::size_t count, Other second = Other::from_a_third) {
    count_ = count;
    magnitude_ = 0;  // of real values: the grid need not cover fill values
    for (const T v : values) {
      const double size = std::fabs(static_cast<double>(v));
      if (size < 1e19) magnitude_ = std::max(magnitude_, size);
    }
    for (Buffer* b : {&x_, &other_, &y_}) b->reserve(bytes());
    timing::tile(values, 0, {x_.as<T>(), count});
    timing::tile(values, second == Other::same_places ? 0 : values.size() / 3 + 17, {other_.as<T>(), count});
    if constexpr (std::is_floating_point_v<T>) {
      if (second != Other::same_places) return;
      for (T& v : std::span<T>(other_.as<T>(), count))
        if (timing::is_data(v)) v *= static_cast<T>(0.75);
    }
  }

  // Makes streams of both at this bound, and checks the decoded values.
  void bound(double eps, bool checksum = false, codec::Coding coding = codec::Coding::fixed) {
    codec::Options o;
    o.coding = coding;
    o.checksum = checksum;
    o.magnitude = magnitude_;  // known with a bound relative to the range
    eps_ = eps;
    for (Buffer* b : {&a_, &b_, &out_}) b->reserve(codec::compress_bound(kType, count_));
    require(codec::compress(kType, x(), count_, eps, a_.bytes(), &a_bytes_, o), "compress");
    require(codec::compress(kType, other(), count_, eps, b_.bytes(), &b_bytes_, o), "compress");
    codec::Info a, b;
    require(codec::inspect(a_stream(), &a), "inspect");
    require(codec::inspect(b_stream(), &b), "inspect");
    out_.reserve(codec::combine_bound(a, b));
    require(codec::decompress(a_stream(), y(), count_), "decompress");
    const double worst = worst_error<T>({x(), count_}, {y(), count_});
    if (!(worst <= eps)) throw std::runtime_error(fmt::format("the bound {} is broken: {}", eps, worst));
  }

  // Throws unless the bytes equal those of bound(), for any instruction set and number of threads, and the fused sum
  // equals the sum of streams.
  void check(const codec::Options& o) {
    compress(o);
    if (written_ != a_bytes_ || std::memcmp(out_.bytes().data(), a_.bytes().data(), written_) != 0) {
      throw std::runtime_error("two ways to compress do not give the same bytes");
    }
    add(o);
    const std::size_t sum_bytes = written_;
    Buffer sum;
    sum.reserve(sum_bytes);
    std::memcpy(sum.bytes().data(), out_.bytes().data(), sum_bytes);
    add_values(o);
    if (written_ != sum_bytes || std::memcmp(out_.bytes().data(), sum.bytes().data(), sum_bytes) != 0) {
      throw std::runtime_error("the fused sum and the sum of streams differ");
    }
  }

  // Enters one operation as "WHO OPERATION". The options must outlive the contest.
  void enter(Contest* contest, const std::string& who, const std::string& operation, const codec::Options& o) {
    const std::string name = who + " " + operation;
    if (operation == "compress") contest->add(name, [this, &o] { compress(o); });
    if (operation == "decompress") contest->add(name, [this, &o] { decompress(o); });
    if (operation == "add") contest->add(name, [this, &o] { add(o); });
    if (operation == "add_values") contest->add(name, [this, &o] { add_values(o); });
  }

  void enter_memcpy(Contest* contest) {
    contest->add("memcpy", [this] { std::memcpy(y(), x(), bytes()); });
  }

  const T* x() const { return x_.template as<T>(); }
  const T* other() const { return other_.template as<T>(); }
  T* y() const { return y_.template as<T>(); }
  std::size_t count() const { return count_; }
  std::size_t bytes() const { return count_ * sizeof(T); }
  double eps() const { return eps_; }
  double ratio() const { return static_cast<double>(bytes()) / static_cast<double>(a_bytes_); }

 private:
  static constexpr codec::Type kType = timing::type_of<T>();

  codec::Bytes a_stream() const { return a_.bytes().first(a_bytes_); }
  codec::Bytes b_stream() const { return b_.bytes().first(b_bytes_); }

  void compress(codec::Options o) {
    o.magnitude = magnitude_;
    require(codec::compress(kType, x(), count_, eps_, out_.bytes(), &written_, o), "compress");
  }
  void add(const codec::Options& o) {
    require(codec::combine(codec::Combine::add, a_stream(), b_stream(), out_.bytes(), &written_, o), "add");
  }

  void decompress(const codec::Options& o) { require(codec::decompress(a_stream(), y(), count_, o), "decompress"); }
  void add_values(const codec::Options& o) {
    require(codec::add_values(a_stream(), other(), count_, out_.bytes(), &written_, o), "add_values");
  }

  Buffer x_, other_, y_, a_, b_, out_;
  std::size_t count_ = 0, a_bytes_ = 0, b_bytes_ = 0, written_ = 0;
  double eps_ = 0, magnitude_ = 0;
};

}  // namespace stretto::bench
