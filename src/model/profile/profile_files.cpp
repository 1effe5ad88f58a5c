#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string_view>

#include "base/guarded.hpp"
#include "base/text/file.hpp"
#include "base/text/printable.hpp"
#include "model/profile/profile_text.hpp"
#include "model/profile/shipped.hpp"

namespace stretto::model {
namespace {

namespace fs = std::filesystem;

// Other characters than letters, digits, '-' and '.' become '_': Open_MPI_5.0.11.
std::string as_file_name(const std::string& text) {
  std::string name;
  for (const char c : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.';
    if (plain)
      name += c;
    else if (!name.empty() && name.back() != '_')
      name += '_';
  }
  return name;
}

std::string configuration_directory() {
  if (const char* xdg = secure_getenv("XDG_CONFIG_HOME"); xdg != nullptr && *xdg == '/')
    return (fs::path(xdg) / "stretto").string();
  const char* home = secure_getenv("HOME");
  return (fs::path(home != nullptr && *home != '\0' ? home : "/") / ".config" / "stretto").string();
}

struct ParsedProfile {
  std::string text;
  Profile profile;
};

class LatestProfile {
 public:
  std::shared_ptr<const ParsedProfile> get() {
    const std::lock_guard lock(mutex_);
    return known_;
  }
  void set(std::shared_ptr<const ParsedProfile> known) {
    const std::lock_guard lock(mutex_);
    known_.swap(known);
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<const ParsedProfile> known_;
};

// Never destroyed: threads may make communicators at exit.
LatestProfile& latest() {
  static LatestProfile& one = *new LatestProfile;
  return one;
}

bool find_shipped(std::string_view name, std::string* text) {
  for (const Shipped& s : shipped_texts())
    if (s.name == name) {
      text->assign(s.json);
      return true;
    }
  return false;
}

Status load_text(const std::string& path, std::string* text, Profile* profile) {
  if (const Status s = read_file(path, text); s != Status::ok) return fail(s, "profile {}", message());
  const Status s = parse_cached(*text, profile);
  return s == Status::ok ? s : fail(s, "profile {}: {}", path, message());
}

// True if the user named a profile; sets its text, or the failure.
bool named(Status* status, std::string* text, std::string* from) {
  const char* name = secure_getenv("STRETTO_PROFILE");
  if (name == nullptr || *name == '\0') return false;
  Profile read;
  if (find_shipped(name, text))
    *status = Status::ok;
  else if (access(name, F_OK) != 0 && errno == ENOENT)
    *status = fail(Status::invalid_argument, "profile {}", no_profile(name));
  else
    *status = load_text(name, text, &read);
  *from = printable(std::string("STRETTO_PROFILE=") + name);
  return true;
}

std::vector<fs::path> tuned(const std::string& host) {
  struct File {
    fs::file_time_type written;
    fs::path path;
  };
  std::vector<File> found;
  std::error_code error;
  const std::string begin = as_file_name(host) + "_";
  for (const fs::directory_entry& entry : fs::directory_iterator(configuration_directory(), error)) {
    if (!entry.path().filename().string().starts_with(begin) || entry.path().extension() != ".json") continue;
    const fs::file_time_type written = entry.last_write_time(error);
    if (!error) found.push_back({written, entry.path()});
  }
  std::sort(found.begin(), found.end(), [](const File& a, const File& b) {
    return a.written != b.written ? a.written > b.written : a.path < b.path;
  });
  std::vector<fs::path> paths;
  for (File& file : found) paths.push_back(std::move(file.path));
  return paths;
}

// A file without links counts as an MPI's.
bool was_measured(const Profile& profile, Carrier carrier) noexcept {
  return carrier == Carrier::ucx ? profile.ucx.has_value() : profile.known() || !profile.ucx;
}

}  // namespace

std::string user_path(const std::string& host, const std::string& library) {
  return (fs::path(configuration_directory()) / (as_file_name(host) + "_" + as_file_name(library) + ".json")).string();
}

Status parse_cached(const std::string& json, Profile* profile) noexcept {
  return guarded("to read a profile", [&] {
    if (const auto known = latest().get(); known && known->text == json) {
      *profile = known->profile;
      return Status::ok;
    }
    if (const Status s = parse(json, profile); s != Status::ok) return s;
    latest().set(std::make_shared<const ParsedProfile>(ParsedProfile{json, *profile}));
    return Status::ok;
  });
}

Status load(const std::string& path, Profile* profile) noexcept {
  return guarded("to read a profile", [&] {
    std::string text;
    return load_text(path, &text, profile);
  });
}

Status find_text(const std::string& host, const std::string& library, std::string* json) noexcept {
  return guarded("to find a profile", [&] {
    Status status{};
    std::string from;
    if (named(&status, json, &from)) return status;
    std::error_code error;
    Profile read;
    const std::string path = user_path(host, library);
    if (fs::exists(path, error) && load_text(path, json, &read) == Status::ok && read.doubts.empty()) return Status::ok;
    find_shipped(built_in().name, json);
    return Status::ok;
  });
}

Status find(const std::string& host, const std::string& library, Profile* profile) noexcept {
  return guarded("to find a profile", [&] {
    std::string json;
    const Status s = find_text(host, library, &json);
    return s == Status::ok ? parse_cached(json, profile) : s;
  });
}

Status find_of_host(const std::string& host, Carrier carrier, Profile* profile, std::string* from) noexcept {
  return guarded("to find a profile", [&] {
    Status status{};
    std::string json;
    if (named(&status, &json, from)) return status == Status::ok ? parse_cached(json, profile) : status;
    for (const fs::path& path : tuned(host)) {
      *from = printable(path.string());
      if (load(path.string(), profile) == Status::ok && profile->doubts.empty() && was_measured(*profile, carrier))
        return Status::ok;
    }
    *profile = built_in();
    *from = "built-in";
    return Status::ok;
  });
}

}  // namespace stretto::model
