// Runs tests of the C functions on devices. Without a device they would all pass through the host: that is a failure here.
#include <gtest/gtest.h>

#include "stretto/stretto_cuda.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (stretto_cuda_available() != STRETTO_OK) return 1;
  return RUN_ALL_TESTS();
}
