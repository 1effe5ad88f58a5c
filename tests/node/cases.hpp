// Every collective once, on buffers of given lengths, compared with its contract. For ranks as threads and as
// processes, so it reports failures itself: expect() counts and describes them.
#pragma once

#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <vector>

#include "node/collectives/collectives.hpp"

namespace stretto::node::cases {

// Where the buffers of a case come from.
struct Buffers {
  std::function<void*(std::size_t)> allocate = [](std::size_t n) { return ::operator new(n); };
  std::function<void(void*)> release = [](void* at) { ::operator delete(at); };
};

template <class T>
class Array {
 public:
  Array(const Buffers& b, std::size_t n)
      : n_(n), memory_(b.allocate(std::max<std::size_t>(n, 1) * sizeof(T)), b.release) {}
  T* data() const { return static_cast<T*>(memory_.get()); }
  T& operator[](std::size_t i) const { return data()[i]; }
  std::size_t size() const { return n_; }
  T* begin() const { return data(); }
  T* end() const { return data() + n_; }

 private:
  std::size_t n_;
  std::shared_ptr<void> memory_;
};

class Cases {
 public:
  Cases(Collectives& c, Buffers buffers) : c_(c), b_(std::move(buffers)), me_(c.rank()), p_(c.size()) {}

  int failures() const { return failures_; }
  // True: reductions must be in rank order, to the last bit.
  void expect_rank_order(bool yes) { rank_order_ = yes; }

  void all(std::size_t n) {
    barrier();
    for (const int root : {0, p_ / 2, p_ - 1}) {
      bcast(n, root);
      gather(n, root);
      scatter(n, root);
      for (const bool in_place : {false, true}) reduce(n, root, in_place);
    }
    for (const bool in_place : {false, true}) {
      allgather(n, in_place);
      alltoall(n, in_place);
      allreduce(n, in_place);
      reduce_scatter(n, in_place);
      ordered(n, in_place);
    }
    reduce_scatter(n, me_ % 2 == 1);  // in place on some ranks
    mean(n);
  }

  void barrier() { ok(c_.barrier(), "barrier"); }

  void bcast(std::size_t n, int root) {
    Array<std::uint8_t> x(b_, n);
    for (std::size_t i = 0; i < n; ++i) x[i] = me_ == root ? byte(root, i) : 0;
    ok(c_.bcast(x.data(), n, root), "bcast");
    for (std::size_t i = 0; i < n; ++i) expect(x[i] == byte(root, i), "bcast", n, i);
  }

  void allgather(std::size_t n, bool in_place) {
    Array<std::uint8_t> in(b_, n), out(b_, n * up());
    std::memset(out.data(), 0, n * up());
    for (std::size_t i = 0; i < n; ++i) (in_place ? out[n * um() + i] : in[i]) = byte(me_, i);
    ok(c_.allgather(in_place ? nullptr : in.data(), out.data(), n), "allgather");
    for (int r = 0; r < p_; ++r)
      for (std::size_t i = 0; i < n; ++i) expect(out[n * u(r) + i] == byte(r, i), "allgather", n, i);
  }

  void gather(std::size_t n, int root) {
    Array<std::uint8_t> in(b_, n), out(b_, me_ == root ? n * up() : 0);
    for (std::size_t i = 0; i < n; ++i) in[i] = byte(me_, i);
    const bool in_place = me_ == root && n % 2 == 1;
    if (in_place && n > 0) std::memcpy(out.data() + n * um(), in.data(), n);
    ok(c_.gather(in_place ? nullptr : in.data(), out.data(), n, root), "gather");
    if (me_ != root) return;
    for (int r = 0; r < p_; ++r)
      for (std::size_t i = 0; i < n; ++i) expect(out[n * u(r) + i] == byte(r, i), "gather", n, i);
  }

  void scatter(std::size_t n, int root) {
    Array<std::uint8_t> in(b_, me_ == root ? n * up() : 0), out(b_, n);
    for (int r = 0; r < p_ && me_ == root; ++r)
      for (std::size_t i = 0; i < n; ++i) in[n * u(r) + i] = byte(r, i);
    const bool in_place = me_ == root && n % 2 == 1;
    ok(c_.scatter(in.data(), in_place ? nullptr : out.data(), n, root), "scatter");
    for (std::size_t i = 0; i < n && !in_place; ++i) expect(out[i] == byte(me_, i), "scatter", n, i);
  }

  void alltoall(std::size_t n, bool in_place) {
    Array<std::uint8_t> in(b_, n * up()), out(b_, n * up());
    for (int r = 0; r < p_; ++r)
      for (std::size_t i = 0; i < n; ++i) (in_place ? out : in)[n * u(r) + i] = byte(me_ * 16 + r, i);
    ok(c_.alltoall(in_place ? nullptr : in.data(), out.data(), n), "alltoall");
    for (int r = 0; r < p_; ++r)
      for (std::size_t i = 0; i < n; ++i) expect(out[n * u(r) + i] == byte(r * 16 + me_, i), "alltoall", n, i);
  }

  void allreduce(std::size_t n, bool in_place) {
    Array<float> in(b_, n), out(b_, n);
    for (std::size_t i = 0; i < n; ++i) (in_place ? out : in)[i] = value(me_, i);
    ok(c_.allreduce(in_place ? nullptr : in.data(), out.data(), n, payload::Type::f32, {payload::Op::sum}),
       "allreduce");
    check_sum(out.data(), 0, n, "allreduce");
    same_everywhere(out);
  }

  void reduce(std::size_t n, int root, bool in_place) {
    Array<float> in(b_, n), out(b_, n);
    const bool here = in_place && me_ == root;
    for (std::size_t i = 0; i < n; ++i) (here ? out : in)[i] = value(me_, i);
    ok(c_.reduce(here ? nullptr : in.data(), out.data(), n, payload::Type::f32, {payload::Op::sum}, root), "reduce");
    if (me_ == root) check_sum(out.data(), 0, n, "reduce");
    for (std::size_t i = 0; i < n && !here; ++i) expect(in[i] == value(me_, i), "reduce leaves its input", n, i);
  }

  void reduce_scatter(std::size_t n, bool in_place) {
    Array<float> in(b_, n * up()), out(b_, n);
    for (std::size_t i = 0; i < n * up(); ++i) in[i] = value(me_, i);
    float* to = in_place ? in.data() : out.data();
    ok(c_.reduce_scatter(in_place ? nullptr : in.data(), to, n, payload::Type::f32, {payload::Op::sum}),
       "reduce_scatter");
    check_sum(to, n * um(), n, "reduce_scatter");
  }

  // Affine maps x -> a·x + b, composed: associative, not commutative.
  void ordered(std::size_t n, bool in_place) {
    Array<std::uint64_t> in(b_, n), out(b_, n);
    for (std::size_t i = 0; i < n; ++i) (in_place ? out : in)[i] = map(me_, i);
    Combination compose{payload::Op::user, {compose_maps, nullptr, false}};
    ok(c_.allreduce(in_place ? nullptr : in.data(), out.data(), n, payload::Type::u64, compose), "a user operation");
    for (std::size_t i = 0; i < n; ++i) {
      std::uint64_t all = map(0, i);
      for (int r = 1; r < p_; ++r) all = composed(all, map(r, i));
      expect(out[i] == all, "a user operation", n, i);
    }
  }

  void mean(std::size_t n) {
    Array<double> in(b_, n), out(b_, n);
    for (std::size_t i = 0; i < n; ++i) in[i] = static_cast<double>(i % 100) + me_;
    ok(c_.allreduce(in.data(), out.data(), n, payload::Type::f64, {payload::Op::mean}), "mean");
    const double middle = static_cast<double>(p_ * (p_ - 1) / 2);
    for (std::size_t i = 0; i < n; ++i)
      expect(out[i] == (static_cast<double>(i % 100) * p_ + middle) / p_, "mean", n, i);
  }

 private:
  std::size_t up() const { return static_cast<std::size_t>(p_); }
  std::size_t um() const { return static_cast<std::size_t>(me_); }
  static std::size_t u(int r) { return static_cast<std::size_t>(r); }
  static std::uint8_t byte(int r, std::size_t i) {
    return static_cast<std::uint8_t>(static_cast<std::size_t>(r) * 37 + i * 11 + i / 251);
  }
  // Sums of these round, differently in every order.
  static float value(int r, std::size_t i) {
    return static_cast<float>((i * 2654435761u + static_cast<std::size_t>(r) * 40503u) % 1000003) * 1.1e-3f +
           static_cast<float>(r);
  }
  static std::uint64_t map(int r, std::size_t i) {
    return (i * 7 + static_cast<std::size_t>(r) * 3 + 1) << 32 | (i + static_cast<std::size_t>(r) + 1);
  }
  static std::uint64_t composed(std::uint64_t f, std::uint64_t g) {
    const auto a = static_cast<std::uint32_t>(f), b = static_cast<std::uint32_t>(f >> 32);
    const auto c = static_cast<std::uint32_t>(g), d = static_cast<std::uint32_t>(g >> 32);
    return std::uint64_t{a * d + b} << 32 | a * c;
  }
  static void compose_maps(const void* left, void* right, std::size_t count, void*) {
    const auto* f = static_cast<const std::uint64_t*>(left);
    auto* g = static_cast<std::uint64_t*>(right);
    for (std::size_t i = 0; i < count; ++i) g[i] = composed(f[i], g[i]);
  }

  void check_sum(const float* y, std::size_t first, std::size_t n, const char* what) {
    for (std::size_t i = 0; i < n; ++i) {
      float sum = value(0, first + i);
      double bound = 0;
      for (int r = 1; r < p_; ++r) {
        sum += value(r, first + i);
        bound += 2e-7 * sum;
      }
      expect(rank_order_ ? y[i] == sum : y[i] >= sum - bound && y[i] <= sum + bound, what, n, i);
    }
  }

  void same_everywhere(const Array<float>& y) {
    const std::size_t n = y.size() * sizeof(float);
    Array<std::uint8_t> all(b_, n * up());
    ok(c_.allgather(y.data(), all.data(), n), "allgather");
    for (int r = 0; r < p_ && n > 0; ++r)
      expect(std::memcmp(all.data() + n * u(r), y.data(), n) == 0, "all ranks have the same bytes", y.size(), u(r));
  }

  void ok(Status s, const char* what) {
    if (s == Status::ok) return;
    ++failures_;
    std::fprintf(stderr, "rank %d of %d: %s: %s: %s\n", me_, p_, what, stretto::name(s), message());
  }
  void expect(bool holds, const char* what, std::size_t n, std::size_t i) {
    if (holds || ++failures_ > 10) return;
    std::fprintf(stderr, "rank %d of %d: %s of %zu differs at %zu\n", me_, p_, what, n, i);
  }

  Collectives& c_;
  Buffers b_;
  int me_, p_;
  int failures_ = 0;
  bool rank_order_ = true;
};

}  // namespace stretto::node::cases
