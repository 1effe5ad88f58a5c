// Stands in for libnvidia-ml.so.1, for the devices of stand_in_driver.cpp. STAND_IN_NVML: the status of its start.
#include <cstdlib>
#include <cstring>

namespace {

using Device = const int*;
constexpr int kFirst = 10, kSecond = 11;

}  // namespace

extern "C" {

int nvmlInit_v2() {
  const char* given = std::getenv("STAND_IN_NVML");
  return given ? std::atoi(given) : 0;
}

int nvmlShutdown() { return 0; }

int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, Device* device) {
  *device = std::strcmp(bus, "0000:0a:00.0") == 0 ? &kFirst : &kSecond;
  return 0;
}

int nvmlDeviceGetCurrPcieLinkGeneration(Device device, unsigned* generation) {
  *generation = *device == kFirst ? 5 : 1;  // the second idles
  return 0;
}

int nvmlDeviceGetCurrPcieLinkWidth(Device device, unsigned* width) {
  *width = *device == kFirst ? 16 : 8;
  return 0;
}

int nvmlDeviceGetMaxPcieLinkGeneration(Device device, unsigned* generation) {
  *generation = *device == kFirst ? 5 : 3;
  return 0;
}

int nvmlDeviceGetMaxPcieLinkWidth(Device, unsigned* width) {
  *width = 16;
  return 0;
}

int nvmlDeviceGetNvLinkState(Device device, unsigned link, unsigned* active) {
  if (*device != kFirst || link >= 18) return 3;
  *active = link < 17;
  return 0;
}

int nvmlDeviceGetNvLinkVersion(Device, unsigned, unsigned* version) {
  *version = 4;
  return 0;
}
}
