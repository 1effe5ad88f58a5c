// Loads the driver of an NVIDIA GPU at run time (libcuda.so.1), so the build needs no CUDA. Declares only the used part
// of CUDA's interface, with the names and numbers of its documentation.
#include <dlfcn.h>

#include <string>
#include <vector>

#include "costs/parts.hpp"

namespace stretto::measure {
namespace {

// An empty kernel, which the driver compiles for the present GPU.
constexpr const char* kEmptyKernel =
    ".version 6.0\n"
    ".target sm_50\n"
    ".address_size 64\n"
    ".visible .entry empty() { ret; }\n";
constexpr std::size_t kStaged = std::size_t{32} << 20;

using Handle = void*;
using Address = unsigned long long;

class Driver {
 public:
  Driver() : library_(dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) {
      missing_ = "no libcuda.so.1";
      return;
    }
    load("cuInit", init);
    load("cuDeviceGetCount", device_count);
    load("cuDeviceGet", device_get);
    load("cuDeviceGetName", device_name);
    load("cuDevicePrimaryCtxRetain", retain);
    load("cuDevicePrimaryCtxRelease_v2", release);
    load("cuCtxSetCurrent", set_current);
    load("cuCtxSynchronize", synchronize);
    load("cuModuleLoadData", load_module);
    load("cuModuleUnload", unload_module);
    load("cuModuleGetFunction", get_function);
    load("cuLaunchKernel", launch);
    load("cuMemAlloc_v2", allocate);
    load("cuMemFree_v2", free);
    load("cuMemAllocHost_v2", allocate_host);
    load("cuMemFreeHost", free_host);
    load("cuMemcpyHtoD_v2", to_device);
    load("cuMemcpyDtoH_v2", to_host);
  }
  ~Driver() {
    if (library_ != nullptr) dlclose(library_);
  }
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  const std::string& missing() const { return missing_; }  // empty if everything was found

  int (*init)(unsigned) = nullptr;
  int (*device_count)(int*) = nullptr;
  int (*device_get)(int*, int) = nullptr;
  int (*device_name)(char*, int, int) = nullptr;
  int (*retain)(Handle*, int) = nullptr;
  int (*release)(int) = nullptr;
  int (*set_current)(Handle) = nullptr;
  int (*synchronize)() = nullptr;
  int (*load_module)(Handle*, const void*) = nullptr;
  int (*unload_module)(Handle) = nullptr;
  int (*get_function)(Handle*, Handle, const char*) = nullptr;
  int (*launch)(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle, void**,
                void**) = nullptr;
  int (*allocate)(Address*, std::size_t) = nullptr;
  int (*free)(Address) = nullptr;
  int (*allocate_host)(void**, std::size_t) = nullptr;
  int (*free_host)(void*) = nullptr;
  int (*to_device)(Address, const void*, std::size_t) = nullptr;
  int (*to_host)(void*, Address, std::size_t) = nullptr;

 private:
  template <class Function>
  void load(const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library_, name));
    if (function == nullptr) missing_ = std::string("libcuda.so.1 has no ") + name;
  }

  void* library_;
  std::string missing_;
};

struct Figures {
  std::string device = "none", reason;
  double launch = 0, to_device = 0, to_host = 0;  // seconds per kernel; seconds per byte
};

// Measures with a current context.
void time(const Driver& cuda, const Budget& budget, Figures* figures) {
  Handle module = nullptr, kernel = nullptr;
  if (cuda.load_module(&module, kEmptyKernel) != 0) {
    figures->reason = "the driver does not load an empty kernel";
    return;
  }
  if (cuda.get_function(&kernel, module, "empty") == 0) {
    figures->launch = sample(budget, [&] {
                        cuda.launch(kernel, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr);
                        cuda.synchronize();
                      }).median;
  }
  Address there = 0;
  void* here = nullptr;
  if (cuda.allocate(&there, kStaged) == 0) {
    if (cuda.allocate_host(&here, kStaged) == 0) {
      figures->to_device = sample(budget, [&] { cuda.to_device(there, here, kStaged); }).median / kStaged;
      figures->to_host = sample(budget, [&] { cuda.to_host(here, there, kStaged); }).median / kStaged;
      cuda.free_host(here);
    }
    cuda.free(there);
  }
  cuda.unload_module(module);
}

Figures first_device(const Budget& budget) {
  Figures figures;
  const Driver cuda;
  figures.reason = cuda.missing();
  if (!figures.reason.empty()) return figures;
  int count = 0, device = 0;
  if (cuda.init(0) != 0 || cuda.device_count(&count) != 0 || count == 0) {
    figures.reason = "libcuda.so.1 finds no device";
    return figures;
  }
  Handle context = nullptr;
  if (cuda.device_get(&device, 0) != 0 || cuda.retain(&context, device) != 0) {
    figures.reason = "libcuda.so.1 opens no context on the first device";
    return figures;
  }
  char name[128] = {};
  cuda.device_name(name, sizeof name, device);
  figures.device = name;
  cuda.set_current(context);
  time(cuda, budget, &figures);
  cuda.set_current(nullptr);
  cuda.release(device);
  return figures;
}

}  // namespace

void device(const Job& job) {
  job.report.begin(Part::device, 1);
  Figures figures;
  job.ranks.while_quiet(job.ranks.rank == 0, [&] { figures = first_device({job.seconds(0.2), 5, 2000}); });
  Json row{{"device", figures.device}};
  if (!figures.reason.empty()) row["reason"] = figures.reason;
  if (figures.launch > 0) row["launch"] = figures.launch;
  if (figures.to_device > 0) row.update(Json{{"to_device", figures.to_device}, {"to_host", figures.to_host}});
  job.report.row(row);
  job.report.step();
}

}  // namespace stretto::measure
