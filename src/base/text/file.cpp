#include "base/text/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/guarded.hpp"

namespace stretto {
namespace {

const char* kind(mode_t mode) noexcept {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

class Descriptor {
 public:
  // Neither waits for a FIFO's writer nor acquires a controlling terminal.
  explicit Descriptor(const std::string& path) noexcept
      : number_(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const noexcept { return number_; }

 private:
  int number_;
};

Status unwritable(const std::string& path) {
  const int error = errno;
  return fail(Status::invalid_argument, "'{}' cannot be written: {}", path, std::strerror(error));
}

Status unreadable(const std::string& path) {
  const int error = errno;
  return fail(Status::invalid_argument, "'{}' cannot be read: {}", path, std::strerror(error));
}

}  // namespace

Status read_file(const std::string& path, std::string* content) noexcept {
  return guarded("to read a file", [&] {
    const Descriptor file(path);
    struct stat found {};
    if (file.number() < 0) {
      if (errno == ENXIO) return fail(Status::invalid_argument, "'{}' is a socket or a device, no regular file", path);
      return unreadable(path);
    }
    if (fstat(file.number(), &found) != 0) return unreadable(path);
    if (!S_ISREG(found.st_mode))
      return fail(Status::invalid_argument, "'{}' is {}, no regular file", path, kind(found.st_mode));
    // Files in /proc have length 0, and any file may grow.
    std::string text;
    constexpr std::size_t step = 65536;
    for (std::size_t length = 0;;) {
      text.resize(length + step);
      const ssize_t n = read(file.number(), text.data() + length, step);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return unreadable(path);
      length += static_cast<std::size_t>(n);
      if (length > kLongestFile)
        return fail(Status::invalid_argument, "'{}' has more than the {} bytes that are read", path, kLongestFile);
      if (n > 0) continue;
      text.resize(length);
      *content = std::move(text);
      return Status::ok;
    }
  });
}

Status replace_file(const std::string& path, const std::string& content) noexcept {
  return guarded("to write a file", [&] {
    struct stat found {};
    const bool exists = stat(path.c_str(), &found) == 0;
    std::string target = path;
    if (char* const resolved = exists ? realpath(path.c_str(), nullptr) : nullptr) {
      target = resolved;
      std::free(resolved);
    }
    const std::size_t slash = target.rfind('/');
    const std::string directory = slash == std::string::npos ? "." : target.substr(0, slash + 1);
    const bool in_place = exists && (!S_ISREG(found.st_mode) || access(directory.c_str(), W_OK | X_OK) != 0);
    const std::string aside = in_place ? target : fmt::format("{}.{}.part", target, getpid());
    std::FILE* const file = std::fopen(aside.c_str(), "we");
    if (!file) return unwritable(path);
    const bool complete = std::fwrite(content.data(), 1, content.size(), file) == content.size();
    const int error = errno;
    const bool closed = std::fclose(file) == 0;
    if (!complete) errno = error;
    bool kept = complete && closed;
    if (kept && !in_place) {
      if (exists) static_cast<void>(chmod(aside.c_str(), found.st_mode & 07777));  // some file systems have no modes
      kept = std::rename(aside.c_str(), target.c_str()) == 0;
    }
    if (kept) return Status::ok;
    const Status s = unwritable(path);
    if (!in_place) unlink(aside.c_str());
    return s;
  });
}

}  // namespace stretto
