#include "node/group/call.hpp"

#include "base/status.hpp"
#include "payload/element.hpp"

namespace stretto::node {
namespace {

bool rooted(Kind k) noexcept {
  return k == Kind::bcast || k == Kind::reduce || k == Kind::gather || k == Kind::scatter;
}

bool combines(Kind k) noexcept { return k == Kind::reduce || k == Kind::allreduce || k == Kind::reduce_scatter; }

}  // namespace

const char* name(Kind k) noexcept {
  switch (k) {
    case Kind::barrier: return "barrier";
    case Kind::bcast: return "bcast";
    case Kind::reduce: return "reduce";
    case Kind::allreduce: return "allreduce";
    case Kind::allgather: return "allgather";
    case Kind::reduce_scatter: return "reduce_scatter";
    case Kind::gather: return "gather";
    case Kind::scatter: return "scatter";
    case Kind::alltoall: return "alltoall";
    case Kind::agreement: return "agreement";
  }
  return "?";
}

Call Call::unpack(std::uint64_t packed, std::uint64_t bytes, double eps, double magnitude) noexcept {
  Call c;
  c.kind = static_cast<Kind>(packed & 0xff);
  c.type = static_cast<std::uint8_t>(packed >> 8);
  c.op = static_cast<std::uint8_t>(packed >> 16);
  c.root = static_cast<std::int32_t>(packed >> 32);
  c.bytes = bytes;
  if ((packed >> 24 & 1) == 0) return c;
  c.eps = eps;
  c.magnitude = magnitude;
  return c;
}

std::uint64_t Call::with_bound(std::uint64_t hash) const noexcept {
  return (hash ^ (hash >> 29) ^ std::bit_cast<std::uint64_t>(eps) ^
          std::rotl(std::bit_cast<std::uint64_t>(magnitude), 32)) *
         0x9e3779b97f4a7c15u;
}

std::string Call::text() const {
  if (kind == Kind::barrier || kind == Kind::agreement) return name(kind);
  std::string t = fmt::format("{} (bytes {}", name(kind), bytes);
  if (rooted(kind)) t += fmt::format(", root {}", root);
  if (combines(kind) || bounded()) t += fmt::format(", type {}", payload::name(static_cast<payload::Type>(type)));
  if (combines(kind)) t += fmt::format(", operation {}", payload::name(static_cast<payload::Op>(op)));
  if (bounded()) t += fmt::format(", eps {}, magnitude {}", eps, magnitude);
  return t + ")";
}

std::string Call::difference(const Call& other) const {
  std::string all;
  const auto tell = [&all](bool differs, const char* what) {
    if (!differs) return;
    if (!all.empty()) all += " and ";
    all += what;
  };
  tell(kind != other.kind, "collective");
  if (kind != other.kind) return all;
  tell(bytes != other.bytes, "bytes");
  tell(root != other.root, "root");
  tell(type != other.type, "type");
  tell(op != other.op, "operation");
  tell(eps != other.eps, "eps");
  tell(magnitude != other.magnitude, "magnitude");
  return all;
}

}  // namespace stretto::node
