#include "stack/images.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>

#include <fmt/core.h>

namespace stretto::stacking {
namespace {

static_assert(std::endian::native == std::endian::little, "image files are little-endian and read as they are");

struct Closer {
  void operator()(std::FILE* f) const noexcept { std::fclose(f); }
};
using File = std::unique_ptr<std::FILE, Closer>;

bool multiply(std::uint64_t a, std::uint64_t b, std::uint64_t* out) {
  constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
  if (b != 0 && a > most / b) return false;
  *out = a * b;
  return true;
}

}  // namespace

Shape parse_shape(std::string_view text) {
  std::array<std::uint64_t, 3> v{};
  const char* p = text.data();
  const char* end = p + text.size();
  for (std::size_t i = 0; i < v.size(); ++i) {
    const bool comma = i == 0 || (p != end && *p == ',');
    if (comma && i > 0) ++p;
    const auto [rest, error] = std::from_chars(p, end, v[i]);
    if (!comma || error != std::errc{} || v[i] == 0) {
      throw Problem(fmt::format("shape \"{}\" is not N,H,W, three positive integers", text));
    }
    p = rest;
  }
  if (p != end) throw Problem(fmt::format("shape \"{}\" is not N,H,W: \"{}\" follows", text, std::string_view(p, end)));
  std::uint64_t bytes = 8;  // of the widest type
  if (!multiply(bytes, v[0], &bytes) || !multiply(bytes, v[1], &bytes) || !multiply(bytes, v[2], &bytes)) {
    throw Problem(fmt::format("shape \"{}\" has more bytes than can be addressed", text));
  }
  return {v[0], v[1], v[2]};
}

stretto_type parse_type(std::string_view text) {
  if (text == "f32") return STRETTO_F32;
  if (text == "f64") return STRETTO_F64;
  throw Problem(fmt::format("type \"{}\" is none of f32, f64", text));
}

const char* type_name(stretto_type type) noexcept { return type == STRETTO_F64 ? "f64" : "f32"; }

void check_file(const std::string& path, const Shape& shape, stretto_type type) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    throw Problem(fmt::format("cannot read images from {}: {}", path, std::strerror(errno)));
  }
  if (!S_ISREG(info.st_mode)) throw Problem(fmt::format("{} is not a regular file", path));
  const std::uint64_t expected = shape.n * shape.pixels() * stretto_type_size(type);
  const auto found = static_cast<std::uint64_t>(info.st_size);
  if (expected != found) {
    throw Problem(fmt::format("{} has {} bytes, but {} images of {} x {} {} are {} bytes: {} {}", path, found, shape.n,
                              shape.h, shape.w, type_name(type), expected,
                              found < expected ? expected - found : found - expected,
                              found < expected ? "are missing" : "too many"));
  }
  if (!File(std::fopen(path.c_str(), "rb")))
    throw Problem(fmt::format("cannot open {}: {}", path, std::strerror(errno)));
}

std::vector<std::byte> read_images(const std::string& path, const Shape& shape, stretto_type type, std::uint64_t first,
                                   std::uint64_t count) {
  const std::uint64_t image = shape.pixels() * stretto_type_size(type);
  std::vector<std::byte> out(count * image);
  if (count == 0) return out;
  const File file(std::fopen(path.c_str(), "rb"));
  if (!file) throw Problem(fmt::format("cannot open {}: {}", path, std::strerror(errno)));
  if (::fseeko(file.get(), static_cast<off_t>(first * image), SEEK_SET) != 0) {
    throw Problem(fmt::format("cannot seek to image {} of {}: {}", first, path, std::strerror(errno)));
  }
  const std::size_t got = std::fread(out.data(), 1, out.size(), file.get());
  if (got != out.size()) {
    throw Problem(
        fmt::format("read {} of {} bytes of images {} to {} from {}", got, out.size(), first, first + count - 1, path));
  }
  return out;
}

void write_file(const std::string& path, const void* data, std::size_t bytes) {
  File file(std::fopen(path.c_str(), "wb"));
  if (!file) throw Problem(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
  const std::size_t put = std::fwrite(data, 1, bytes, file.get());
  if (std::fclose(file.release()) != 0 || put != bytes) {
    throw Problem(fmt::format("wrote {} of {} bytes to {}: {}", put, bytes, path, std::strerror(errno)));
  }
}

Share share_of(std::uint64_t images, int ranks, int rank) noexcept {
  const auto p = static_cast<std::uint64_t>(ranks);
  const auto r = static_cast<std::uint64_t>(rank);
  const std::uint64_t each = images / p;
  const std::uint64_t more = images % p;  // the first `more` ranks hold an additional image
  return {r * each + std::min(r, more), each + (r < more ? 1 : 0)};
}

std::vector<std::byte> tile(const std::vector<std::byte>& images, std::size_t bytes, std::size_t target,
                            std::size_t element) {
  if (target <= bytes || bytes == 0) return images;
  target -= target % element;
  const std::size_t count = images.size() / bytes;
  std::vector<std::byte> out(count * target);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t at = 0; at < target; at += bytes) {
      std::memcpy(out.data() + i * target + at, images.data() + i * bytes, std::min(bytes, target - at));
    }
  }
  return out;
}

std::uint64_t hash(const void* data, std::size_t bytes) noexcept {
  constexpr std::uint64_t offset = 0xcbf29ce484222325U;
  constexpr std::uint64_t prime = 0x100000001b3U;
  std::uint64_t h = offset;
  const auto* p = static_cast<const unsigned char*>(data);
  for (std::size_t at = 0; at < bytes; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, p + at, std::min<std::size_t>(8, bytes - at));
    // A multiplication carries changes upward only; folding brings the high half back down.
    h = (h ^ word) * prime;
    h ^= h >> 32U;
  }
  return (h ^ bytes) * prime;
}

}  // namespace stretto::stacking
