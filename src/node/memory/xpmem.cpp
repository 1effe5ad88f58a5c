#include "node/memory/xpmem.hpp"

#include <dlfcn.h>

#include <cerrno>
#include <cstring>
#include <string>

#include <fmt/core.h>

#include "base/guarded.hpp"

namespace stretto::node {
namespace {

// Declarations of xpmem.h, which need not be installed.
constexpr int kReadWrite = 2;                    // XPMEM_RDWR
constexpr int kPermitMode = 1;                   // XPMEM_PERMIT_MODE: rights are file modes
constexpr std::size_t kWhole = ~std::size_t{0};  // XPMEM_MAXADDR_SIZE: the whole address space
constexpr std::uint64_t kPage = 4096;

// The library stays loaded: it never closes its descriptor of the module, and would open another for each communicator.
void* opened(const char* library) {
  const auto open = [](const char* name) { return dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE); };
  static const std::string first = library;  // the only name outside of tests
  static void* const found = open(library);
  return library == first ? found : open(library);
}

}  // namespace

struct Xpmem::Calls {
  struct Address {  // struct xpmem_addr
    std::int64_t permit;
    std::int64_t offset;
  };
  void* library = nullptr;
  std::int64_t (*make)(void*, std::size_t, int, void*) = nullptr;
  int (*remove)(std::int64_t) = nullptr;
  std::int64_t (*get)(std::int64_t, int, int, void*) = nullptr;
  int (*release)(std::int64_t) = nullptr;
  void* (*attach)(Address, std::size_t, void*) = nullptr;
  int (*detach)(void*) = nullptr;

  template <class F>
  bool find(const char* name, F* f) noexcept {
    *f = reinterpret_cast<F>(dlsym(library, name));
    return *f != nullptr;
  }
};

std::unique_ptr<Xpmem> Xpmem::load(const char* library, std::string* why) {
  std::unique_ptr<Xpmem> x(new Xpmem);
  x->calls_ = std::make_unique<Calls>();
  Calls& c = *x->calls_;
  c.library = opened(library);
  if (c.library == nullptr) {
    *why = fmt::format("no library {}", library);
    return nullptr;
  }
  if (!c.find("xpmem_make", &c.make) || !c.find("xpmem_remove", &c.remove) || !c.find("xpmem_get", &c.get) ||
      !c.find("xpmem_release", &c.release) || !c.find("xpmem_attach", &c.attach) ||
      !c.find("xpmem_detach", &c.detach)) {
    *why = fmt::format("{} lacks a function of XPMEM", library);
    return nullptr;
  }
  // Mode 0600: processes of this user only.
  x->segment_ = c.make(nullptr, kWhole, kPermitMode, reinterpret_cast<void*>(std::uintptr_t{0600}));
  if (x->segment_ == -1) {
    *why = fmt::format("xpmem_make: {} (is the module loaded, and /dev/xpmem readable and writable?)",
                       std::strerror(errno));
    return nullptr;
  }
  return x;
}

bool Xpmem::open(const std::vector<std::int64_t>& segments, std::string* why) {
  for (std::size_t r = 0; r < segments.size(); ++r) {
    permits_.push_back(
        calls_->get(segments[r], kReadWrite, kPermitMode, reinterpret_cast<void*>(std::uintptr_t{0600})));
    if (permits_.back() != -1) continue;
    *why = fmt::format("xpmem_get of rank {}: {}", r, std::strerror(errno));
    return false;
  }
  return true;
}

Xpmem::~Xpmem() {
  for (const Attachment& a : attachments_) calls_->detach(a.here);
  for (const std::int64_t permit : permits_) {
    if (permit != -1) calls_->release(permit);
  }
  if (segment_ != -1) calls_->remove(segment_);
}

std::byte* Xpmem::reach(int peer, std::uint64_t address, std::size_t bytes) noexcept {
  for (auto it = attachments_.begin(); it != attachments_.end(); ++it) {
    if (it->peer != peer || address < it->first || address + bytes > it->end) continue;
    attachments_.splice(attachments_.begin(), attachments_, it);
    return it->here + (address - it->first);
  }
  const std::uint64_t first = address / kPage * kPage, end = (address + bytes + kPage - 1) / kPage * kPage;
  void* at = calls_->attach({permits_[static_cast<std::size_t>(peer)], static_cast<std::int64_t>(first)}, end - first,
                            nullptr);
  if (at == reinterpret_cast<void*>(std::intptr_t{-1})) return nullptr;
  if (!attempt([&] { attachments_.push_front({peer, first, end, static_cast<std::byte*>(at)}); })) {
    calls_->detach(at);
    return nullptr;
  }
  if (attachments_.size() > limit()) {
    calls_->detach(attachments_.back().here);
    attachments_.pop_back();
  }
  return attachments_.front().here + (address - first);
}

}  // namespace stretto::node
