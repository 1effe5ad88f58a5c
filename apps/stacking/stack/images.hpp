// Partial images in memory and in files: `n` arrays of h x w values, raw little-endian, last index fastest, no header.
// Failures are thrown as a Problem, whose message is for the user.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/stretto.h"

namespace stretto::stacking {

struct Problem : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Shape {
  std::uint64_t n = 0;  // images
  std::uint64_t h = 0;  // rows
  std::uint64_t w = 0;  // columns
  std::uint64_t pixels() const noexcept { return h * w; }
  friend bool operator==(const Shape&, const Shape&) = default;
};

// "N,H,W", three positive integers whose bytes can be addressed.
Shape parse_shape(std::string_view text);

// "f32" or "f64", the types of images.
stretto_type parse_type(std::string_view text);
const char* type_name(stretto_type type) noexcept;

// Throws unless the file exists, is a regular file that can be opened, and has exactly the bytes of `shape`; the
// message names expected and actual bytes. Reads only the file's metadata.
void check_file(const std::string& path, const Shape& shape, stretto_type type);

// Images [first, first + count) of a file that check_file accepted.
std::vector<std::byte> read_images(const std::string& path, const Shape& shape, stretto_type type, std::uint64_t first,
                                   std::uint64_t count);

void write_file(const std::string& path, const void* data, std::size_t bytes);

// Images of rank `rank` of `ranks`: [first, first + count). Contiguous shares, whose sizes differ by at most one; may
// be empty.
struct Share {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};
Share share_of(std::uint64_t images, int ranks, int rank) noexcept;

// Repeats each of `count` images of `bytes` bytes until it has `target` bytes (cut to whole elements of `element`
// bytes). target < bytes leaves them unchanged.
std::vector<std::byte> tile(const std::vector<std::byte>& images, std::size_t bytes, std::size_t target,
                            std::size_t element);

// FNV-1a over eight bytes at a time (a short tail is padded with zeros).
std::uint64_t hash(const void* data, std::size_t bytes) noexcept;

}  // namespace stretto::stacking
