#include "carrier/directory_store.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include "base/guarded.hpp"
#include "base/text/file.hpp"

namespace stretto::carrier {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kScheme = "file://";
constexpr auto kFirstNap = std::chrono::milliseconds(1), kLongestNap = std::chrono::milliseconds(20);

Status failed(const char* what, const std::string& path) {
  return fail(Status::internal, "the store cannot {} {}: {}", what, path, std::strerror(errno));
}

class DirectoryStore final : public Store {
 public:
  explicit DirectoryStore(std::string directory) : directory_(std::move(directory)) {}

  Status set(const std::string& key, std::string_view value) override {
    const std::string path = path_of(key);
    std::string aside = directory_ + "/.new-XXXXXX";
    const int file = mkstemp(aside.data());
    if (file < 0) return failed("make a file in", directory_);
    std::size_t written = 0;
    while (written < value.size()) {
      const ssize_t n = write(file, value.data() + written, value.size() - written);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      written += static_cast<std::size_t>(n);
    }
    const bool closed = close(file) == 0;
    if (written == value.size() && closed && rename(aside.c_str(), path.c_str()) == 0) return Status::ok;
    const Status s = failed("write", path);
    unlink(aside.c_str());
    return s;
  }

  Status get(const std::string& key, double seconds, std::string* value) override {
    const std::string path = path_of(key);
    const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    for (auto nap = kFirstNap;; nap = std::min(2 * nap, kLongestNap)) {
      if (access(path.c_str(), F_OK) == 0) {
        const Status s = read_file(path, value);
        if (s == Status::ok || access(path.c_str(), F_OK) == 0) return s;
      } else if (errno != ENOENT) {
        return failed("read", path);
      }
      const auto left = end - Clock::now();
      if (left <= Clock::duration::zero()) return fail(Status::timeout, "the store has no {} after {} s", key, seconds);
      std::this_thread::sleep_for(std::min<Clock::duration>(nap, left));
    }
  }

  Status remove(const std::string& key) override {
    const std::string path = path_of(key);
    return unlink(path.c_str()) == 0 || errno == ENOENT ? Status::ok : failed("remove", path);
  }

 private:
  std::string path_of(const std::string& key) const {
    std::string path = directory_ + "/";
    for (const char c : key) {
      const bool plain =
          (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
      if (plain)
        path += c;
      else
        path += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    }
    return path;
  }

  const std::string directory_;
};

}  // namespace

Status open_directory_store(std::string_view url, std::unique_ptr<Store>* store) noexcept {
  return guarded("for a store", [&] {
    const std::string_view path = url.substr(std::min(kScheme.size(), url.size()));
    if (url.substr(0, kScheme.size()) != kScheme || path.empty() || path.front() != '/')
      return fail(Status::invalid_argument, "STRETTO_STORE is '{}'; it takes file:///DIRECTORY", url);
    std::string directory(path);
    if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
      return fail(Status::invalid_argument, "STRETTO_STORE: the directory {} cannot be made: {}", directory,
                  std::strerror(errno));
    if (access(directory.c_str(), W_OK | X_OK) != 0)
      return fail(Status::invalid_argument, "STRETTO_STORE: the directory {} cannot be used: {}", directory,
                  std::strerror(errno));
    *store = std::make_unique<DirectoryStore>(std::move(directory));
    return Status::ok;
  });
}

}  // namespace stretto::carrier
