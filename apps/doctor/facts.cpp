#include "facts.hpp"

#include <sched.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/core.h>

#include "api/creation/modules.hpp"
#include "codec/codec.hpp"
#include "model/profile/profile.hpp"
#include "stretto/stretto_cuda.h"
#include "topology/topology.hpp"

namespace stretto::doctor {
namespace {

// The first line of a file, or null.
Json line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return nullptr;
  return line;
}

// "always [madvise] never": the word in brackets.
Json choice_of(const std::string& path) {
  const Json line = line_of(path);
  if (line.is_null()) return line;
  const auto text = line.get<std::string>();
  const std::size_t from = text.find('['), to = text.find(']');
  if (from == std::string::npos || to == std::string::npos || to < from) return text;
  return text.substr(from + 1, to - from - 1);
}

Json number_of(const std::string& path) {
  const Json line = line_of(path);
  if (line.is_null()) return line;
  try {
    return std::stoll(line.get<std::string>());
  } catch (const std::exception&) {
    return nullptr;
  }
}

// "user:[4026531837]"
Json namespace_of(const char* kind) {
  char text[64] = {};
  if (readlink(fmt::format("/proc/self/ns/{}", kind).c_str(), text, sizeof text - 1) <= 0) return nullptr;
  return text;
}

// In the form of `taskset`: "0-3,8".
std::string list_of(const std::vector<int>& cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    if (!text.empty()) text += ",";
    text += last > i ? fmt::format("{}-{}", cpus[i], cpus[last]) : fmt::format("{}", cpus[i]);
    i = last + 1;
  }
  return text;
}

std::vector<int> bound_to() {
  std::vector<int> cpus;
  for (std::size_t size = CPU_SETSIZE; size <= (std::size_t{1} << 20); size *= 4) {
    cpu_set_t* set = CPU_ALLOC(size);
    if (set == nullptr) return cpus;
    const std::size_t bytes = CPU_ALLOC_SIZE(size);
    if (sched_getaffinity(0, bytes, set) == 0) {
      for (std::size_t i = 0; i < size; ++i)
        if (CPU_ISSET_S(i, bytes, set)) cpus.push_back(static_cast<int>(i));
      CPU_FREE(set);
      return cpus;
    }
    CPU_FREE(set);
  }
  return cpus;
}

// The name of the profile with the message times of communicators over UCX on this host; `found`: "UCX 1.13.1 of PATH".
std::string messages_over_ucx(const std::string& found) {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  model::Profile profile;
  if (model::find(host.data(), found.substr(0, found.find(" of ")), &profile) != Status::ok)
    return "none: " + std::string(message());
  std::string messages;
  static_cast<void>(model::over(model::Carrier::ucx, std::move(profile), &messages));
  return messages;
}

Json container() {
  for (const char* mark : {"/.dockerenv", "/run/.containerenv", "/singularity", "/.singularity.d"})
    if (access(mark, F_OK) == 0) return mark;
  return nullptr;
}

}  // namespace

Json facts_of_process() {
  const std::vector<int> cpus = bound_to();
  topology::Place place;
  int cores = 0;
  const bool located = topology::locate(&place, &cores) == Status::ok;
  const auto known = [&](std::int32_t number) -> Json { return located && number >= 0 ? Json(number) : Json(nullptr); };
  return {{"pid", getpid()},
          {"uid", getuid()},
          {"user_namespace", namespace_of("user")},
          {"pid_namespace", namespace_of("pid")},
          {"cpus", list_of(cpus)},
          {"cpu_count", cpus.size()},
          {"socket", known(place.socket)},
          {"cache", known(place.cache)},
          {"core", known(place.core)}};
}

Json facts_of_host() {
  utsname kernel{};
  uname(&kernel);
  topology::Place place;
  int cores = 0;
  if (topology::locate(&place, &cores) != Status::ok) cores = static_cast<int>(std::thread::hardware_concurrency());
  struct sysinfo memory {};
  const bool has_memory = sysinfo(&memory) == 0;
  struct statvfs shm {};
  const bool has_shm = statvfs("/dev/shm", &shm) == 0;
  const auto bytes = [](bool known, std::uint64_t n) -> Json { return known ? Json(n) : Json(nullptr); };
  return {{"kernel", kernel.release},
          {"cores", cores},
          {"memory", bytes(has_memory, std::uint64_t{memory.totalram} * memory.mem_unit)},
          {"shm", bytes(has_shm, std::uint64_t{shm.f_blocks} * shm.f_frsize)},
          {"shm_free", bytes(has_shm, std::uint64_t{shm.f_bavail} * shm.f_frsize)},
          {"yama", number_of("/proc/sys/kernel/yama/ptrace_scope")},
          {"overcommit", number_of("/proc/sys/vm/overcommit_memory")},
          {"huge_pages", choice_of("/sys/kernel/mm/transparent_hugepage/enabled")},
          {"shared_huge_pages", choice_of("/sys/kernel/mm/transparent_hugepage/shmem_enabled")},
          {"xpmem_device", access("/dev/xpmem", F_OK) == 0},
          {"container", container()}};
}

Json facts_of_codec() {
  const bool gpu = stretto_cuda_available() == STRETTO_OK;
  return {{"kernels", codec::name(codec::best_isa())},
          {"gpu", gpu},
          {"gpu_reason", gpu ? "plugin and device are there" : stretto_message()}};
}

Json facts_of_nccl() {
  const backend::Module* nccl = nullptr;
  std::string text;
  const bool there = api::find_module("nccl", &nccl) == Status::ok;
  const bool serves = there && nccl->finds(&text) == Status::ok;
  const std::string why = serves ? "" : std::string(message());
  const bool gpu = stretto_cuda_available() == STRETTO_OK;
  return {{"name", "nccl"},
          {"there", there},
          {"built_for", there ? Json(nccl->serves) : Json(nullptr)},
          {"used", serves && gpu},
          {"reason", !serves ? why
                             : fmt::format("for calls with memory of GPUs on all ranks: {}{}", text,
                                           gpu ? "" : "; there is no GPU")}};
}

Json facts_of_modules() {
  api::LoadedMpi mpi;
  const Status found = api::find_loaded_mpi(&mpi);
  const char* const fitting = found == Status::ok ? api::module_of(mpi.abi) : nullptr;
  Json all = Json::array();
  for (const stretto_mpi abi : {STRETTO_MPI_OPENMPI, STRETTO_MPI_MPICH, STRETTO_MPI_STANDARD}) {
    const char* const name = api::module_of(abi);
    const backend::Module* module = nullptr;
    const bool loads = api::find_module(name, &module) == Status::ok;
    const bool there = loads || std::string_view(stretto_message()).find("No such file") == std::string_view::npos;
    const bool used = loads && fitting && name == std::string_view(fitting);
    all.push_back({{"name", name},
                   {"there", there},
                   {"built_for", loads ? Json(module->serves) : Json(nullptr)},
                   {"used", used},
                   {"reason", !loads                ? std::string(stretto_message())
                              : used                ? fmt::format("the MPI of this program is {}", mpi.version)
                              : found == Status::ok ? std::string("the MPI of this program is another")
                                                    : std::string("this program has no MPI")}});
  }
  const backend::Module* ucx = nullptr;
  std::string text;
  const bool there = api::find_module("ucx", &ucx) == Status::ok;
  const bool serves = there && ucx->finds(&text) == Status::ok;
  const std::string profile = serves ? messages_over_ucx(text) : std::string();
  all.push_back(
      {{"name", "ucx"},
       {"there", there},
       {"built_for", there ? Json(ucx->serves) : Json(nullptr)},
       {"used", serves && found != Status::ok},
       {"messages", serves ? Json(profile) : Json(nullptr)},
       {"reason", serves ? fmt::format("for programs without an MPI: {}; times of messages: profile {}", text, profile)
                         : std::string(stretto_message())}});
  all.push_back(facts_of_nccl());
  return all;
}

}  // namespace stretto::doctor
