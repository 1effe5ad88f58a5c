#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>

#include "base/file.hpp"
#include "base/printable.hpp"
#include "model/profile/profile.hpp"

namespace stretto::model {
namespace {

namespace fs = std::filesystem;

// Replaces each run of characters other than letters, digits, '-' and '.' by '_': Open_MPI_5.0.11.
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

bool is_shipped(const std::string& name) {
  for (const std::string& s : shipped())
    if (s == name) return true;
  return false;
}

// True if the user named one.
bool named(Status* status, Profile* profile, std::string* from) {
  const char* name = secure_getenv("STRETTO_PROFILE");
  if (name == nullptr || *name == '\0') return false;
  *status = is_shipped(name) ? shipped(name, profile) : load(name, profile);
  *from = printable(std::string("STRETTO_PROFILE=") + name);
  return true;
}

// A host's profiles in the user's directory, most recent first.
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

// A hand-written file may lack links, and counts as an MPI's.
bool was_measured(const Profile& profile, Carrier carrier) noexcept {
  return carrier == Carrier::ucx ? profile.ucx.has_value() : profile.known() || !profile.ucx;
}

}  // namespace

std::string user_path(const std::string& host, const std::string& library) {
  return (fs::path(configuration_directory()) / (as_file_name(host) + "_" + as_file_name(library) + ".json")).string();
}

Status load(const std::string& path, Profile* profile) noexcept try {
  std::string text;
  if (const Status s = read_file(path, &text); s != Status::ok) return fail(s, "profile {}", message());
  const Status s = parse(text, profile);
  return s == Status::ok ? s : fail(s, "profile {}: {}", path, message());
} catch (const std::exception& e) {
  return fail(Status::out_of_memory, "profile {} cannot be read: {}", path, e.what());
}

Status find(const std::string& host, const std::string& library, Profile* profile) noexcept try {
  Status status{};
  std::string from;
  if (named(&status, profile, &from)) return status;
  std::error_code error;
  const std::string path = user_path(host, library);
  if (fs::exists(path, error) && load(path, profile) == Status::ok && profile->doubts.empty()) return Status::ok;
  *profile = built_in();
  return Status::ok;
} catch (const std::exception& e) {
  return fail(Status::out_of_memory, "no profile can be found: {}", e.what());
}

Status find_of_host(const std::string& host, Carrier carrier, Profile* profile, std::string* from) noexcept try {
  Status status{};
  if (named(&status, profile, from)) return status;
  for (const fs::path& path : tuned(host)) {
    *from = printable(path.string());
    if (load(path.string(), profile) == Status::ok && profile->doubts.empty() && was_measured(*profile, carrier))
      return Status::ok;
  }
  *profile = built_in();
  *from = "built-in";
  return Status::ok;
} catch (const std::exception& e) {
  return fail(Status::out_of_memory, "no profile can be found: {}", e.what());
}

}  // namespace stretto::model
