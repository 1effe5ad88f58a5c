// Stand-in for libcuda.so.1: STAND_IN_DEVICES devices (2 unless set; negative: cuInit fails). The first has all
// features of a new device, the second is an old device.
#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace {

int devices() {
  const char* given = std::getenv("STAND_IN_DEVICES");
  return given ? std::atoi(given) : 2;
}

}  // namespace

extern "C" {

int cuInit(unsigned) { return devices() < 0 ? 999 : 0; }

int cuDriverGetVersion(int* version) {
  *version = 13010;
  return 0;
}

int cuDeviceGetCount(int* count) {
  *count = devices();
  return 0;
}

int cuDeviceGet(int* device, int number) {
  *device = 10 + number;
  return 0;
}

int cuDeviceGetName(char* name, int length, int device) {
  std::snprintf(name, static_cast<std::size_t>(length), "Stand-in %d", device);
  return 0;
}

int cuDeviceTotalMem_v2(std::size_t* bytes, int device) {
  *bytes = std::size_t{device == 10 ? 141U : 16U} << 30U;
  return 0;
}

int cuDeviceGetPCIBusId(char* bus, int length, int device) {
  std::snprintf(bus, static_cast<std::size_t>(length), "0000:%02x:00.0", device);
  return 0;
}

int cuDeviceGetAttribute(int* value, int attribute, int device) {
  const bool first = device == 10;
  switch (attribute) {
    case 75: *value = first ? 9 : 7; return 0;
    case 76: *value = first ? 0 : 5; return 0;
    case 116: *value = first; return 0;
    case 124: *value = first; return first ? 0 : 1;  // the second does not know it
    default: return 1;
  }
}

int cuDeviceCanAccessPeer(int* can, int from, int to) {
  *can = from == 10 && to == 11;
  return 0;
}
}
