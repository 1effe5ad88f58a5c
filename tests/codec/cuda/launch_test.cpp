// The CUDA calls of the plugin, as compiled by nvcc: at most a memset, one kernel and one copy per call, on the
// caller's stream and within the requested workspace. It links with a runtime of these functions alone, so it neither
// allocates nor waits. STRETTO_CUDA_PLUGIN names the plugin.
#include <dlfcn.h>

#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "recorded_runtime.hpp"
#include "stretto/stretto_cuda.h"

namespace {

using stretto::codec::cuda::Recorded;

std::vector<Recorded> taken() {
  static const auto take = reinterpret_cast<stretto::codec::cuda::TakeRecorded*>(
      dlsym(dlopen(std::getenv("STRETTO_CUDA_PLUGIN"), RTLD_NOW | RTLD_NOLOAD), stretto::codec::cuda::kTakeRecorded));
  std::vector<Recorded> calls(16);
  calls.resize(take(calls.data(), calls.size()));
  return calls;
}

// Addresses that nobody reads.
char* address(std::size_t n) { return reinterpret_cast<char*>(n << 40); }

class CudaLaunch : public testing::Test {
 protected:
  CudaLaunch() {
    EXPECT_EQ(stretto_cuda_available(), STRETTO_OK) << stretto_message();
    call.stream = address(7);
    call.workspace = address(1);
    call.result = reinterpret_cast<stretto_cuda_result*>(address(2));
    call.host_result = reinterpret_cast<stretto_cuda_result*>(address(3));
    taken();
  }
  // Enqueues an operation with as much workspace as it asks for.
  stretto_status enqueue(int operation, stretto_type t, std::size_t n) {
    const auto op = static_cast<stretto_cuda_operation>(operation);
    const stretto_status s = stretto_cuda_workspace(op, t, n, &call.workspace_bytes);
    if (s != STRETTO_OK) return s;
    void *x = address(4), *out = address(5), *a = address(6), *b = address(8);
    const std::size_t most = std::size_t{1} << 60;
    switch (op) {
      case STRETTO_CUDA_COMPRESS: return stretto_compress_on_stream(t, x, n, 1e-3, out, most, &call);
      case STRETTO_CUDA_DECOMPRESS: return stretto_decompress_on_stream(t, a, most, x, n, 3, &call);
      case STRETTO_CUDA_ADD:
      case STRETTO_CUDA_SUBTRACT:
      case STRETTO_CUDA_MIN:
      case STRETTO_CUDA_MAX: return stretto_combine_on_stream(op, t, a, most, b, most, n, out, most, &call);
      case STRETTO_CUDA_ADD_VALUES: return stretto_add_values_on_stream(t, a, most, x, n, out, most, &call);
      case STRETTO_CUDA_ADD_CODES: return stretto_add_codes_on_stream(t, a, most, b, x, n, out, most, &call);
      case STRETTO_CUDA_QUANTISE: return stretto_quantise_on_stream(t, x, n, 1e-3, out, &call);
      case STRETTO_CUDA_RANGE: return stretto_value_range_on_stream(t, x, n, static_cast<double*>(out), &call);
      case STRETTO_CUDA_TO_DENSE:
        return stretto_recode_on_stream(t, STRETTO_CODING_DENSE, a, most, n, out, most, &call);
      case STRETTO_CUDA_TO_FIXED:
        return stretto_recode_on_stream(t, STRETTO_CODING_FIXED, a, most, n, out, most, &call);
    }
    return STRETTO_INTERNAL;
  }
  stretto_cuda_call call = STRETTO_CUDA_CALL_INIT;
};

constexpr stretto_type kTypes[] = {STRETTO_F32, STRETTO_F64, STRETTO_F16, STRETTO_BF16};
constexpr const char* kNames[] = {"Compress",  "Decompress", "AddStreams", "AddStreams", "Select",  "Select",
                                  "AddValues", "AddValues",  "Quantise",   "Range",      "ToDense", "ToFixed"};

TEST_F(CudaLaunch, EveryCallIsMemsetKernelAndCopyOnTheCallersStream) {
  for (const std::size_t n : {std::size_t{1}, std::size_t{5000}, std::size_t{1} << 26, std::size_t{1} << 40})
    for (const stretto_type t : kTypes)
      for (int op = STRETTO_CUDA_COMPRESS; op <= STRETTO_CUDA_TO_FIXED; ++op) {
        SCOPED_TRACE(std::string(kNames[op]) + ", type " + std::to_string(t) + ", " + std::to_string(n) + " values");
        ASSERT_EQ(enqueue(op, t, n), STRETTO_OK) << stretto_message();
        const auto calls = taken();
        ASSERT_EQ(calls.size(), 3u);
        for (const Recorded& c : calls) EXPECT_EQ(c.stream, call.stream);
        EXPECT_EQ(calls[0].kind, Recorded::memset);
        EXPECT_EQ(calls[0].to, call.workspace);
        EXPECT_LE(calls[0].bytes, call.workspace_bytes);
        EXPECT_EQ(calls[1].kind, Recorded::kernel);
        EXPECT_NE(std::string(calls[1].name).find(kNames[op]), std::string::npos) << calls[1].name;
        EXPECT_EQ(calls[2].kind, Recorded::copy);
        EXPECT_EQ(calls[2].to, call.host_result);
        EXPECT_EQ(calls[2].from, call.result);
        EXPECT_EQ(calls[2].bytes, sizeof(stretto_cuda_result));
      }
}

TEST_F(CudaLaunch, BlocksHave128ThreadsAtLeastAndGridsAreBounded) {
  for (const stretto_type t : kTypes)
    for (int op = STRETTO_CUDA_COMPRESS; op <= STRETTO_CUDA_TO_FIXED; ++op) {
      ASSERT_EQ(enqueue(op, t, std::size_t{1} << 30), STRETTO_OK);
      const auto calls = taken();
      EXPECT_GE(calls.at(1).threads, 128u);
      EXPECT_EQ(calls.at(1).blocks % stretto::codec::cuda::kRecordedMultiprocessors, 0u);
      EXPECT_LE(calls.at(1).blocks, 6u * stretto::codec::cuda::kRecordedMultiprocessors);
      ASSERT_EQ(enqueue(op, t, 1), STRETTO_OK);
      EXPECT_EQ(taken().at(1).blocks, 1u);
    }
}

TEST_F(CudaLaunch, AResultForTheHostIsCopiedOnlyIfAskedFor) {
  call.host_result = nullptr;
  for (int op = STRETTO_CUDA_COMPRESS; op <= STRETTO_CUDA_TO_FIXED; ++op) {
    ASSERT_EQ(enqueue(op, STRETTO_F32, 5000), STRETTO_OK);
    EXPECT_EQ(taken().size(), 2u);
  }
}

TEST_F(CudaLaunch, AFailureOfCudaIsTheCallsAndEndsIt) {
  for (const Recorded::Kind kind : {Recorded::memset, Recorded::kernel, Recorded::copy}) {
    setenv("STRETTO_RECORDED_FAILURE", std::to_string(kind).c_str(), 1);
    EXPECT_EQ(enqueue(STRETTO_CUDA_COMPRESS, STRETTO_F32, 5000), STRETTO_INTERNAL);
    EXPECT_NE(std::string(stretto_message()).find("a recorded failure"), std::string::npos) << stretto_message();
    EXPECT_EQ(taken().size(), static_cast<std::size_t>(kind) + 1);
  }
  unsetenv("STRETTO_RECORDED_FAILURE");
}

TEST_F(CudaLaunch, AWorkspaceOneByteShortIsRefusedBeforeEnqueuing) {
  for (int op = STRETTO_CUDA_COMPRESS; op <= STRETTO_CUDA_TO_FIXED; ++op) {
    std::size_t bytes = 0;
    ASSERT_EQ(stretto_cuda_workspace(static_cast<stretto_cuda_operation>(op), STRETTO_F32, 5000, &bytes), STRETTO_OK);
    EXPECT_GT(bytes, 0u);
  }
  std::size_t bytes = 0;
  ASSERT_EQ(stretto_cuda_workspace(STRETTO_CUDA_COMPRESS, STRETTO_F32, 5000, &bytes), STRETTO_OK);
  call.workspace_bytes = bytes - 1;
  EXPECT_EQ(stretto_compress_on_stream(STRETTO_F32, address(4), 5000, 1e-3, address(5), std::size_t{1} << 40, &call),
            STRETTO_BUFFER_TOO_SMALL);
  EXPECT_TRUE(taken().empty());
}

}  // namespace
