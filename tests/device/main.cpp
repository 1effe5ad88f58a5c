// Runs tests of the C API on devices. A missing device is a failure here, since all tests would run on the host.
#include <gtest/gtest.h>

#include "stretto/stretto_cuda.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (stretto_cuda_available() != STRETTO_OK) return 1;
  return RUN_ALL_TESTS();
}
