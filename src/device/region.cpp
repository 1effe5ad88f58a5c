#include "device/region.hpp"

#include <algorithm>
#include <functional>

#include "base/guarded.hpp"

namespace stretto::device {
namespace {

constexpr std::size_t kAlignment = 256;
constexpr std::size_t kLeast = std::size_t{1} << 18;

constexpr int kMemoryAllocation = 2;

constexpr std::size_t aligned(std::size_t bytes) noexcept { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

void Region::give_back(const Piece& p) noexcept {
  if (!p.shared || !keeps_shared_) static_cast<void>(plugin_.release(kind_, p.data));
}

void Region::drop() noexcept {
  for (const Piece& p : retired_) give_back(p);
  retired_.clear();
  if (used_ > 0) return;
  for (const Piece& p : pieces_) give_back(p);
  pieces_.clear();
  total_ = 0;
}

void Region::free_all() noexcept {
  for (const Piece& p : pieces_) {
    if (p.shared)
      retired_.push_back(p);  // has room: share()
    else
      static_cast<void>(plugin_.release(kind_, p.data));
  }
  pieces_.clear();
  total_ = 0;
}

Status Region::add(std::size_t bytes) noexcept {
  if (!attempt([&] { pieces_.reserve(pieces_.size() + 1); }))
    return fail(Status::out_of_memory, "no memory to keep {} memory", what_);
  void* data = nullptr;
  if (const int e = plugin_.allocate(kind_, bytes, &data))
    return fail(e == kMemoryAllocation ? Status::out_of_memory : Status::internal,
                "no {} bytes of {} memory beside {}: CUDA error {}: {}", bytes, what_, total_, e,
                plugin_.error_text(e));
  pieces_.push_back({static_cast<std::byte*>(data), bytes, 0});
  total_ += bytes;
  return Status::ok;
}

std::byte* Region::share(const void* p) noexcept {
  const auto* const at = static_cast<const std::byte*>(p);
  const std::less<> before;
  for (Piece& piece : pieces_) {
    if (before(at, piece.data) || !before(at, piece.data + piece.bytes)) continue;
    if (!attempt([&] { retired_.reserve(retired_.size() + pieces_.size()); })) return nullptr;
    piece.shared = true;
    return piece.data;
  }
  return nullptr;
}

Status Region::allocate(std::size_t bytes, std::byte** data) noexcept {
  bytes = aligned(bytes);
  const auto room = [bytes](const Piece& p) { return p.bytes - p.given >= bytes; };
  auto piece = std::find_if(pieces_.begin(), pieces_.end(), room);
  if (piece == pieces_.end()) {
    if (fixed_)
      return fail(Status::buffer_too_small,
                  "{} bytes of {} memory are wanted beside {} in use; {} are reserved (stretto_cuda_reserve)", bytes,
                  what_, used_, total_);
    if (const Status s = add(std::max({bytes, total_, kLeast})); s != Status::ok) return s;
    piece = pieces_.end() - 1;
  }
  *data = piece->data + piece->given;
  piece->given += bytes;
  used_ += bytes;
  return Status::ok;
}

void Region::release(std::byte*, std::size_t bytes) noexcept {
  used_ -= aligned(bytes);
  if (used_ > 0) return;
  for (Piece& p : pieces_) p.given = 0;
}

Status Region::fix(std::size_t bytes) noexcept {
  if (used_ > 0) return fail(Status::internal, "{} bytes of {} memory are in use", used_, what_);
  free_all();
  fixed_ = true;
  return bytes == 0 ? Status::ok : add(aligned(bytes));
}

}  // namespace stretto::device
