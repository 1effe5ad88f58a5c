// The C functions for a GPU: their errors without a GPU, and their arguments to a plugin with an emulated device. Each
// part has its own process, since a plugin is searched for once (CMakeLists.txt).
#include "stretto/stretto_cuda.h"
#include "stretto/stretto_cuda_memory.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

std::string message() { return stretto_message(); }

// Memory as the emulated device wants it: never at 64 modulo 128 bytes.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes)
      : data_(static_cast<char*>(std::aligned_alloc(128, (bytes + 127) / 128 * 128 + 128))) {}
  ~Buffer() { std::free(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  char* data() { return data_; }
  template <class T>
  T* as() {
    return reinterpret_cast<T*>(data_);
  }

 private:
  char* data_;
};

void every_function_is_unsupported(const std::string& because) {
  const auto check = [&](stretto_status s) {
    EXPECT_EQ(s, STRETTO_UNSUPPORTED);
    EXPECT_NE(message().find(because), std::string::npos) << message();
  };
  float x[4] = {};
  double range[2];
  std::size_t n = 0;
  stretto_memory kind;
  stretto_cuda_call call = STRETTO_CUDA_CALL_INIT;
  check(stretto_cuda_available());
  check(stretto_cuda_memory(x, &kind));
  check(stretto_cuda_workspace(STRETTO_CUDA_COMPRESS, STRETTO_F32, 4, &n));
  check(stretto_compress_on_stream(STRETTO_F32, x, 4, 1e-3, x, 4, &call));
  check(stretto_decompress_on_stream(STRETTO_F32, x, 4, x, 4, 1, &call));
  check(stretto_combine_on_stream(STRETTO_CUDA_ADD, STRETTO_F32, x, 4, x, 4, 4, x, 4, &call));
  check(stretto_add_values_on_stream(STRETTO_F32, x, 4, x, 4, x, 4, &call));
  check(stretto_add_codes_on_stream(STRETTO_F32, x, 4, x, x, 4, x, 4, &call));
  check(stretto_quantise_on_stream(STRETTO_F32, x, 4, 1e-3, x, &call));
  check(stretto_recode_on_stream(STRETTO_F32, STRETTO_CODING_DENSE, x, 4, 4, x, 4, &call));
  check(stretto_value_range_on_stream(STRETTO_F32, x, 4, range, &call));
  check(stretto_value_range_below_on_stream(STRETTO_F32, x, 4, 0, range, &call));
  int device = 0;
  void* p = nullptr;
  check(stretto_cuda_locate(x, &kind, &device));
  check(stretto_cuda_use_device(0, &device));
  check(stretto_cuda_allocate(STRETTO_MEMORY_DEVICE, 8, &p));
  check(stretto_cuda_release(STRETTO_MEMORY_DEVICE, x));
  check(stretto_cuda_copy(x, x + 2, 8, nullptr));
  check(stretto_cuda_wait(nullptr, nullptr));
}

TEST(CudaMissing, APluginThatIsNotThereIsNamed) { every_function_is_unsupported("/nowhere/libstretto_cuda.so"); }
TEST(CudaMissing, AMissingDeviceIsReported) { every_function_is_unsupported("no CUDA device"); }
TEST(CudaMissing, APluginOfAnotherVersionIsRefused) { every_function_is_unsupported("version 77"); }
TEST(CudaMissing, ALibraryThatIsNoPluginIsRefused) { every_function_is_unsupported("is no plugin of stretto"); }

class CudaEmulated : public testing::Test {
 protected:
  static constexpr std::size_t kCount = 5000;
  CudaEmulated()
      : x(4 * kCount), a(capacity()), b(capacity()), out(capacity()), workspace(1 << 16), result(64), pinned(64) {
    for (std::size_t i = 0; i < kCount; ++i) x.as<float>()[i] = std::sin(static_cast<float>(i) * 0.01f);
    x.as<float>()[77] = std::numeric_limits<float>::quiet_NaN();
    call.workspace = workspace.data();
    call.workspace_bytes = 1 << 16;
    call.result = result.as<stretto_cuda_result>();
    call.host_result = &host;
  }
  static std::size_t capacity() { return stretto_combine_bound(STRETTO_F32, kCount); }
  std::size_t host_stream(Buffer& to) {
    std::size_t written = 0;
    EXPECT_EQ(stretto_compress(STRETTO_F32, x.data(), kCount, 1e-3, to.data(), capacity(), &written, 0), STRETTO_OK);
    return written;
  }
  void expect_stream(Buffer& got, Buffer& expected, std::size_t bytes) {
    EXPECT_EQ(host.status, 0u);
    ASSERT_EQ(host.bytes, bytes);
    EXPECT_EQ(std::memcmp(got.data(), expected.data(), bytes), 0);
  }
  Buffer x, a, b, out, workspace, result, pinned;
  stretto_cuda_result& host = *new (pinned.data()) stretto_cuda_result{};
  stretto_cuda_call call = STRETTO_CUDA_CALL_INIT;
};

TEST_F(CudaEmulated, CompressAndDecompressPassTheirArgumentsOn) {
  const std::size_t bytes = host_stream(a);
  ASSERT_EQ(stretto_compress_on_stream(STRETTO_F32, x.data(), kCount, 1e-3, out.data(), capacity(), &call), STRETTO_OK)
      << message();
  expect_stream(out, a, bytes);
  Buffer y(4 * kCount), z(4 * kCount);
  ASSERT_EQ(stretto_decompress_on_stream(STRETTO_F32, out.data(), bytes, y.data(), kCount, 3, &call), STRETTO_OK);
  ASSERT_EQ(stretto_decompress(a.data(), bytes, z.data(), kCount, 3), STRETTO_OK);
  EXPECT_EQ(host.status, 0u);
  EXPECT_EQ(std::memcmp(y.data(), z.data(), 4 * kCount), 0);
}

TEST_F(CudaEmulated, CombinationsPassTheirArgumentsOn) {
  const std::size_t bytes = host_stream(a);
  const auto agree = [&](stretto_cuda_operation op, auto host_function) {
    std::size_t written = 0;
    ASSERT_EQ(host_function(a.data(), bytes, a.data(), bytes, b.data(), capacity(), &written, 0u), STRETTO_OK);
    ASSERT_EQ(stretto_combine_on_stream(op, STRETTO_F32, a.data(), bytes, a.data(), bytes, kCount, out.data(),
                                        capacity(), &call),
              STRETTO_OK);
    expect_stream(out, b, written);
  };
  agree(STRETTO_CUDA_ADD, stretto_stream_add);
  agree(STRETTO_CUDA_SUBTRACT, stretto_stream_subtract);
  agree(STRETTO_CUDA_MIN, stretto_stream_min);
  agree(STRETTO_CUDA_MAX, stretto_stream_max);
}

TEST_F(CudaEmulated, FusedAndTwoKernelSumsPassTheirArgumentsOn) {
  const std::size_t bytes = host_stream(a);
  std::size_t written = 0;
  ASSERT_EQ(stretto_stream_add_values(a.data(), bytes, x.data(), kCount, b.data(), capacity(), &written, 0),
            STRETTO_OK);
  ASSERT_EQ(stretto_add_values_on_stream(STRETTO_F32, a.data(), bytes, x.data(), kCount, out.data(), capacity(), &call),
            STRETTO_OK);
  expect_stream(out, b, written);
  Buffer codes(4 * kCount);
  ASSERT_EQ(stretto_quantise_on_stream(STRETTO_F32, x.data(), kCount, 1e-3, codes.data(), &call), STRETTO_OK);
  ASSERT_EQ(stretto_add_codes_on_stream(STRETTO_F32, a.data(), bytes, codes.data(), x.data(), kCount, out.data(),
                                        capacity(), &call),
            STRETTO_OK);
  expect_stream(out, b, written);
}

TEST_F(CudaEmulated, RecodedStreamsHaveTheHostsBytes) {
  const std::size_t bytes = host_stream(a);
  std::size_t dense = 0;
  ASSERT_EQ(stretto_stream_slice(a.data(), bytes, 0, kCount, b.data(), capacity(), &dense, STRETTO_DENSE), STRETTO_OK);
  ASSERT_LT(dense, bytes);
  ASSERT_EQ(
      stretto_recode_on_stream(STRETTO_F32, STRETTO_CODING_DENSE, a.data(), bytes, kCount, out.data(), dense, &call),
      STRETTO_OK)
      << message();
  expect_stream(out, b, dense);
  ASSERT_EQ(
      stretto_recode_on_stream(STRETTO_F32, STRETTO_CODING_FIXED, b.data(), dense, kCount, out.data(), bytes, &call),
      STRETTO_OK)
      << message();
  expect_stream(out, a, bytes);
  ASSERT_EQ(
      stretto_recode_on_stream(STRETTO_F32, STRETTO_CODING_AUTO, a.data(), bytes, kCount, out.data(), bytes, &call),
      STRETTO_INVALID_ARGUMENT);
  EXPECT_NE(message().find("coding is neither dense nor fixed"), std::string::npos) << message();
}

TEST_F(CudaEmulated, TheRangeLandsWhereItIsWanted) {
  Buffer range(64);
  double lo = 0, hi = 0;
  ASSERT_EQ(stretto_value_range(STRETTO_F32, x.data(), kCount, &lo, &hi), STRETTO_OK);
  ASSERT_EQ(stretto_value_range_on_stream(STRETTO_F32, x.data(), kCount, range.as<double>(), &call), STRETTO_OK);
  EXPECT_EQ(range.as<double>()[0], lo);
  EXPECT_EQ(range.as<double>()[1], hi);
}

TEST_F(CudaEmulated, TheRangeLeavesFillValuesOut) {
  Buffer range(64);
  for (std::size_t i = 0; i < kCount; i += 7) x.as<float>()[i] = 1e20f;
  for (const double above : {0.0, 0.5, 1e20, static_cast<double>(INFINITY)}) {
    double lo = 0, hi = 0;
    std::uint64_t ignored = 0;
    ASSERT_EQ(stretto_value_range_below(STRETTO_F32, x.data(), kCount, above, &lo, &hi, &ignored), STRETTO_OK);
    ASSERT_EQ(stretto_value_range_below_on_stream(STRETTO_F32, x.data(), kCount, above, range.as<double>(), &call),
              STRETTO_OK);
    EXPECT_EQ(range.as<double>()[0], lo) << above;
    EXPECT_EQ(range.as<double>()[1], hi) << above;
    EXPECT_EQ(host.bytes, ignored) << above;
  }
  for (const double bad : {-1.0, static_cast<double>(NAN)}) {
    EXPECT_EQ(stretto_value_range_below_on_stream(STRETTO_F32, x.data(), kCount, bad, range.as<double>(), &call),
              STRETTO_INVALID_ARGUMENT);
    EXPECT_NE(message().find("ignore_above is "), std::string::npos) << message();
  }
}

TEST_F(CudaEmulated, WhatGoesWrongInTheWorkLandsInTheResult) {
  const std::size_t bytes = host_stream(a);
  a.data()[0] ^= 1;
  Buffer y(4 * kCount);
  ASSERT_EQ(stretto_decompress_on_stream(STRETTO_F32, a.data(), bytes, y.data(), kCount, 1, &call), STRETTO_OK);
  EXPECT_EQ(host.status, static_cast<unsigned>(STRETTO_CORRUPT_STREAM));
  EXPECT_EQ(host.bytes, 0u);
}

TEST_F(CudaEmulated, WrongArgumentsAreNamedAndNothingRuns) {
  const std::size_t bytes = host_stream(a);
  const auto refused = [&](stretto_status got, stretto_status expected, const char* what) {
    EXPECT_EQ(got, expected) << what;
    EXPECT_NE(message().find(what), std::string::npos) << message();
  };
  auto compress = [&](stretto_type t, const void* values, double eps, void* to, std::size_t room) {
    return stretto_compress_on_stream(t, values, kCount, eps, to, room, &call);
  };
  refused(compress(STRETTO_F32, nullptr, 1e-3, out.data(), capacity()), STRETTO_INVALID_ARGUMENT, "values is NULL");
  refused(compress(STRETTO_F32, x.data() + 64, 1e-3, out.data(), capacity()), STRETTO_INVALID_ARGUMENT,
          "values is in host memory");
  refused(compress(STRETTO_F32, x.data() + 2, 1e-3, out.data(), capacity()), STRETTO_INVALID_ARGUMENT, "multiple of 4");
  refused(compress(STRETTO_F32, x.data(), 1e-3, out.data() + 4, capacity()), STRETTO_INVALID_ARGUMENT, "multiple of 8");
  refused(compress(STRETTO_F32, x.data(), 0, out.data(), capacity()), STRETTO_INVALID_BOUND, "bound 0");
  refused(compress(STRETTO_F32, x.data(), 1e-3, out.data(), 70), STRETTO_BUFFER_TOO_SMALL, "70");
  refused(compress(STRETTO_I32, x.data(), 1e-3, out.data(), capacity()), STRETTO_UNSUPPORTED, "i32");
  refused(stretto_decompress_on_stream(STRETTO_F32, a.data(), bytes, x.data(), kCount, 0, &call),
          STRETTO_INVALID_ARGUMENT, "divisor");
  refused(stretto_compress_on_stream(STRETTO_F32, x.data(), kCount, 1e-3, out.data(), capacity(), nullptr),
          STRETTO_INVALID_ARGUMENT, "call");
  call.host_result = reinterpret_cast<stretto_cuda_result*>(pinned.data() + 64);
  refused(compress(STRETTO_F32, x.data(), 1e-3, out.data(), capacity()), STRETTO_INVALID_ARGUMENT,
          "host_result is in host memory");
  call.host_result = &host;
  call.workspace_bytes = 10;
  refused(compress(STRETTO_F32, x.data(), 1e-3, out.data(), capacity()), STRETTO_BUFFER_TOO_SMALL, "workspace");
}

TEST_F(CudaEmulated, AWorkspaceIsAskedForOnlyForWhatHasKernels) {
  std::size_t bytes = 7;
  const auto ask = [&](int operation, int type, std::size_t count) {
    return stretto_cuda_workspace(static_cast<stretto_cuda_operation>(operation), static_cast<stretto_type>(type),
                                  count, &bytes);
  };
  EXPECT_EQ(ask(STRETTO_CUDA_COMPRESS, STRETTO_F16, std::size_t{1} << 48), STRETTO_OK);
  EXPECT_GT(bytes, std::size_t{1} << 32);
  EXPECT_EQ(ask(STRETTO_CUDA_COMPRESS, STRETTO_F32, (std::size_t{1} << 48) + 1), STRETTO_INVALID_ARGUMENT);
  EXPECT_EQ(bytes, 0u);
  EXPECT_EQ(ask(STRETTO_CUDA_COMPRESS, STRETTO_F32, ~std::size_t{0}), STRETTO_INVALID_ARGUMENT);
  EXPECT_EQ(ask(STRETTO_CUDA_COMPRESS, STRETTO_I64, 5), STRETTO_UNSUPPORTED);
  EXPECT_EQ(ask(STRETTO_CUDA_COMPRESS, 99, 5), STRETTO_INVALID_ARGUMENT);
  EXPECT_EQ(ask(99, STRETTO_F32, 5), STRETTO_INVALID_ARGUMENT);
}

TEST_F(CudaEmulated, DetectionOfMemoryCanBeOverridden) {
  stretto_memory kind = STRETTO_MEMORY_PINNED;
  ASSERT_EQ(stretto_cuda_memory(x.data() + 64, &kind), STRETTO_OK);
  EXPECT_EQ(kind, STRETTO_MEMORY_HOST);
  ASSERT_EQ(stretto_cuda_assume_memory(STRETTO_MEMORY_DEVICE), STRETTO_OK);
  ASSERT_EQ(stretto_cuda_memory(x.data() + 64, &kind), STRETTO_OK);
  EXPECT_EQ(kind, STRETTO_MEMORY_DEVICE);
  EXPECT_EQ(stretto_compress_on_stream(STRETTO_F32, x.data() + 64, kCount - 16, 1e-3, out.data(), capacity(), &call),
            STRETTO_OK);
  ASSERT_EQ(stretto_cuda_assume_memory(STRETTO_MEMORY_DETECT), STRETTO_OK);
  ASSERT_EQ(stretto_cuda_memory(x.data() + 64, &kind), STRETTO_OK);
  EXPECT_EQ(kind, STRETTO_MEMORY_HOST);
  EXPECT_EQ(stretto_cuda_assume_memory(static_cast<stretto_memory>(9)), STRETTO_INVALID_ARGUMENT);
}

}  // namespace
