#include "node/group/call.hpp"

#include "base/status.hpp"
#include "payload/element.hpp"

namespace stretto::node {

CallRecord CallRecord::unpack(std::uint64_t packed, std::uint64_t bytes, double eps, double magnitude) noexcept {
  CallRecord c;
  c.kind = static_cast<Collective>(packed & 0xff);
  c.type = static_cast<std::uint8_t>(packed >> 8);
  c.op = static_cast<std::uint8_t>(packed >> 16);
  c.root = static_cast<std::int32_t>(packed >> 32);
  c.bytes = bytes;
  c.tree = static_cast<std::uint8_t>(packed >> 25 & 0x7f);
  if ((packed >> 24 & 1) == 0) return c;
  c.eps = eps;
  c.magnitude = magnitude;
  return c;
}

std::uint64_t CallRecord::with_bound(std::uint64_t hash) const noexcept {
  return (hash ^ (hash >> 29) ^ std::bit_cast<std::uint64_t>(eps) ^
          std::rotl(std::bit_cast<std::uint64_t>(magnitude), 32)) *
         0x9e3779b97f4a7c15u;
}

std::string CallRecord::text() const {
  if (kind == Collective::barrier || kind == Collective::agreement) return name(kind);
  std::string t = fmt::format("{} (bytes {}", name(kind), bytes);
  if (rooted(kind)) t += fmt::format(", root {}", root);
  if (reduces(kind) || bounded()) t += fmt::format(", type {}", payload::name(static_cast<payload::Type>(type)));
  if (reduces(kind)) t += fmt::format(", operation {}", payload::name(static_cast<payload::Op>(op)));
  if (bounded()) t += fmt::format(", eps {}, magnitude {}", eps, magnitude);
  if (tree != 0) t += ", by a tree";
  return t + ")";
}

std::string CallRecord::difference(const CallRecord& other) const {
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
  tell(tree != other.tree, "schedule");
  return all;
}

}  // namespace stretto::node
