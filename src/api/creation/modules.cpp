#include "api/creation/modules.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "backend/build.hpp"
#include "base/guarded.hpp"

namespace stretto::api {
namespace {

constexpr Purpose kLoading = "to load a module";

std::string directory() {
  if (const char* given = secure_getenv("STRETTO_MODULES"); given && *given) return given;
  Dl_info here;
  if (dladdr(reinterpret_cast<const void*>(&find_module), &here) == 0 || !here.dli_fname) return "stretto";
  const std::string_view file(here.dli_fname);
  const std::size_t end = file.find_last_of('/');
  return (end == file.npos ? std::string(".") : std::string(file.substr(0, end))) + "/stretto";
}

// The version is the first member in every version; other members are read only from our own.
Status compare(const std::string& file, const backend::Module* found) {
  if (!found) return fail(Status::unsupported, "{} is no module of stretto", file);
  if (std::strcmp(found->version, STRETTO_VERSION) != 0)
    return fail(Status::unsupported, "{} is of stretto {}, and this is stretto {}", file, found->version,
                STRETTO_VERSION);
  if (std::strcmp(found->build, backend::build_id) != 0)
    return fail(Status::unsupported, "{} is of build {} of stretto {}, and this is build {}", file, found->build,
                STRETTO_VERSION, backend::build_id);
  return Status::ok;
}

Status load(const std::string& name, const backend::Module** module) {
  const std::string file = directory() + "/libstretto_" + name + ".so";
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const std::string reason = dlerror();
    if (name == "ucx" && access(file.c_str(), F_OK) != 0)
      return fail(Status::unsupported,
                  "no module for ucx: {} is not there; install libucx-dev and build stretto, or its wheel, again",
                  file);
    return fail(Status::unsupported, "no module for {}: {}", name, reason);
  }
  const auto* found = static_cast<const backend::Module*>(dlsym(library, backend::kModuleSymbol));
  const Status s = compare(file, found);
  if (s == Status::ok)
    *module = found;
  else
    dlclose(library);
  return s;
}

using GetVersion = int (*)(char*, int*);
using GetAbi = int (*)(int*, int*);

constexpr const char* kVersionSymbol = "MPI_Get_library_version";

// RTLD_DEFAULT does not see a library that was loaded for another alone.
std::vector<std::string> libraries() {
  std::vector<std::string> names;
  const auto add = [](dl_phdr_info* info, std::size_t, void* to) {
    const bool listed = attempt([&] {
      if (info->dlpi_name && *info->dlpi_name)
        static_cast<std::vector<std::string>*>(to)->emplace_back(info->dlpi_name);
    });
    return listed ? 0 : 1;
  };
  dl_iterate_phdr(add, &names);
  return names;
}

void* find_function() {
  if (void* seen = dlsym(RTLD_DEFAULT, kVersionSymbol)) return seen;
  for (const std::string& name : libraries()) {
    void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_NOLOAD);
    if (!library) continue;
    void* const function = dlsym(library, kVersionSymbol);
    dlclose(library);  // others keep it
    if (function) return function;
  }
  return nullptr;
}

// Makes the MPI's library visible to modules, even if only a Python extension had loaded it. Null: no MPI.
void* find_library() {
  void* const function = find_function();
  Dl_info file;
  if (!function || dladdr(function, &file) == 0) return function ? dlopen(nullptr, RTLD_NOW) : nullptr;
  void* const library = dlopen(file.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
  return library ? library : dlopen(nullptr, RTLD_NOW);
}

stretto_mpi abi_of(void* library, std::string_view version) {
  int major = -1, minor = -1;
  const auto get_abi = reinterpret_cast<GetAbi>(dlsym(library, "MPI_Abi_get_version"));
  if (get_abi && get_abi(&major, &minor) == 0 && major > 0) return STRETTO_MPI_STANDARD;
  for (const char* kin : {"Open MPI", "Spectrum MPI"})
    if (version.find(kin) != version.npos) return STRETTO_MPI_OPENMPI;
  for (const char* kin : {"MPICH", "MVAPICH", "Intel(R) MPI", "ParaStation MPI"})
    if (version.find(kin) != version.npos) return STRETTO_MPI_MPICH;
  return STRETTO_MPI_LOADED;
}

}  // namespace

Status find_module(const std::string& name, const backend::Module** module) noexcept {
  return guarded(kLoading, [&] { return load(name, module); });
}

Status find_loaded_mpi(LoadedMpi* mpi) noexcept {
  return guarded(kLoading, [&] {
    void* const library = find_library();
    if (!library) return fail(Status::unsupported, std::string_view("no MPI is loaded in this process"));
    char text[8192] = "";  // the longest of all MPIs, since it is not known which
    int length = 0;
    reinterpret_cast<GetVersion>(dlsym(library, kVersionSymbol))(text, &length);
    const std::string_view all(text);
    mpi->version = all.substr(0, all.find_first_of("\n,"));
    mpi->abi = abi_of(library, all);
    return Status::ok;
  });
}

const char* module_of(stretto_mpi abi) noexcept {
  switch (abi) {
    case STRETTO_MPI_OPENMPI: return "openmpi";
    case STRETTO_MPI_MPICH: return "mpich";
    case STRETTO_MPI_STANDARD: return "mpi_abi";
    case STRETTO_MPI_LOADED: break;
  }
  return nullptr;
}

}  // namespace stretto::api
