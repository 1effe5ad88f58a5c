// CRC-32C (Castagnoli, reflected polynomial 0x82f63b78), by the processor's instruction if available.
#include <array>

#include "codec/stream/format.hpp"

namespace stretto::codec {
namespace {

constexpr std::array<std::array<std::uint32_t, 256>, 8> make_tables() {
  std::array<std::array<std::uint32_t, 256>, 8> t{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int k = 0; k < 8; ++k) c = c & 1 ? c >> 1 ^ 0x82f63b78u : c >> 1;
    t[0][i] = c;
  }
  for (std::size_t k = 1; k < 8; ++k)
    for (std::size_t i = 0; i < 256; ++i) t[k][i] = t[k - 1][i] >> 8 ^ t[0][t[k - 1][i] & 0xff];
  return t;
}
constexpr auto kTables = make_tables();

std::uint32_t by_table(std::uint32_t c, const std::uint8_t* p, std::size_t n) noexcept {
  for (; n >= 8; n -= 8, p += 8) {
    const std::uint64_t v = load<std::uint64_t>(p) ^ c;
    c = 0;
    for (std::size_t k = 0; k < 8; ++k) c ^= kTables[7 - k][v >> (8 * k) & 0xff];
  }
  for (; n; --n) c = c >> 8 ^ kTables[0][(c ^ *p++) & 0xff];
  return c;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2,crc32"))) std::uint32_t by_instruction(std::uint32_t c, const std::uint8_t* p,
                                                                     std::size_t n) noexcept {
  std::uint64_t v = c;
  for (; n >= 8; n -= 8, p += 8) v = __builtin_ia32_crc32di(v, load<std::uint64_t>(p));
  c = static_cast<std::uint32_t>(v);
  for (; n; --n) c = __builtin_ia32_crc32qi(c, *p++);
  return c;
}
#endif

}  // namespace

std::uint32_t crc32c(std::uint32_t crc, const std::uint8_t* p, std::size_t n) noexcept {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return ~by_instruction(~crc, p, n);
#endif
  return ~by_table(~crc, p, n);
}

}  // namespace stretto::codec
