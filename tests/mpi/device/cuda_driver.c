/* A stand-in for CUDA's driver (libcuda.so.1): reports its allocations as device memory, though any program can read
 * them. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int cuMemAlloc_v2(uintptr_t* given, size_t bytes);
int cuPointerGetAttribute(void* result, int attribute, uintptr_t pointer);

enum { invalid_value = 1, out_of_memory = 2, memory_type = 2, device = 2, most = 16 };
static struct {
  uintptr_t at;
  size_t bytes;
} given_out[most];
static int count;

int cuMemAlloc_v2(uintptr_t* given, size_t bytes) {
  void* memory = count < most ? malloc(bytes) : NULL;
  if (!memory) return out_of_memory;
  *given = given_out[count].at = (uintptr_t)memory;
  given_out[count++].bytes = bytes;
  return 0;
}

int cuPointerGetAttribute(void* result, int attribute, uintptr_t pointer) {
  if (attribute != memory_type) return invalid_value;
  for (int i = 0; i < count; ++i)
    if (pointer - given_out[i].at < given_out[i].bytes) {
      *(unsigned*)result = device;
      return 0;
    }
  return invalid_value; /* as of memory that the driver has not seen */
}
