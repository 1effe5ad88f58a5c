// Property: each instruction set of the build and processor, with every width of the portable kernels, equals the
// scalar reference bit for bit: streams of values, of sums, of extremes and of fused sums, and values of streams. An
// input chooses one instruction set and one operation, so that hundreds of inputs run per second.
#include <cmath>
#include <iterator>

#include "../codec/portable_targets.hpp"
#include "codec/portable/portable.hpp"
#include "common.hpp"

using namespace stretto;
using namespace stretto::codec;

namespace {

// The output of `f` in `room` bytes; empty if it fails, which must happen on every instruction set.
template <class F>
Stream written(std::size_t room, F f) {
  Stream out(room, std::byte{0xa5});  // none of it may show in a stream
  std::size_t length = 0;
  const Status s = f(MutableBytes(out), &length);
  out.resize(s == Status::ok ? length : 0);
  return out;
}

// An instruction set, of the portable kernels one width.
struct Way {
  Isa isa;
  const char* target;  // null: the processor's default
};

const std::vector<Way>& ways() {
  static const std::vector<Way> found = [] {
    std::vector<Way> all;
    for (const Isa isa : fast_isas()) all.push_back({isa, nullptr});
    for (const char* target : kPortableTargets)
      if (choose_portable_target(target)) all.push_back({Isa::portable, target});
    choose_portable_target(nullptr);
    return all;
  }();
  return found;
}

template <class T>
struct Operands {
  Type type;
  double eps;
  Combine op;
  std::vector<T> x, y;
};

// All results on one instruction set, in an order of their own.
template <class T>
std::vector<Stream> results(const Operands<T>& given, const Options& o) {
  const Type t = given.type;
  const std::size_t n = given.x.size();
  const auto compressed = [&](const std::vector<T>& v) {
    return written(compress_bound(t, n), [&](auto... to) { return compress(t, v.data(), n, given.eps, to..., o); });
  };
  std::vector<Stream> all{compressed(given.x), compressed(given.y)};
  const Stream a = all[0], b = all[1];
  all.push_back(written(combine_bound(t, n), [&](auto... to) { return combine(given.op, a, b, to..., o); }));
  all.push_back(written(combine_bound(t, n), [&](auto... to) { return add_values(a, given.y.data(), n, to..., o); }));
  for (std::size_t i = 0, streams = all.size(); i < streams; ++i) {
    if (all[i].empty()) continue;
    Stream values(n * sizeof(T));
    if (decompress(all[i], values.data(), n, o, 1) != Status::ok) values.clear();
    all.push_back(std::move(values));
  }
  return all;
}

template <class T>
void compare(Type t, bool checksum, Blob& blob) {
  double eps = std::fabs(static_cast<double>(blob.take<float>()));
  if (!std::isfinite(eps) || eps == 0) eps = 1e-3;
  const auto turn = blob.take<std::uint16_t>();
  const auto choice = blob.take<std::uint8_t>();
  constexpr Combine ops[] = {Combine::add, Combine::subtract, Combine::min, Combine::max};
  const Way& way = ways()[choice / std::size(ops) % ways().size()];
  // Instruction sets differ within groups: one that is full and one that is not.
  Operands<T> given{t, eps, ops[choice % std::size(ops)], values<T>(blob, 1500), {}};
  given.y = given.x;
  if (!given.y.empty()) std::rotate(given.y.begin(), given.y.begin() + turn % given.y.size(), given.y.end());
  const std::vector<Stream> wanted = results(given, with(Isa::reference, checksum));
  choose_portable_target(way.target);
  require(results(given, with(way.isa, checksum)) == wanted, "the same bytes on every instruction set");
  choose_portable_target(nullptr);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Blob blob(data, size);
  of_chosen_type(blob, [&](auto value, Type type, bool checksum) { compare<decltype(value)>(type, checksum, blob); });
  return 0;
}
