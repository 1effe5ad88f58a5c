// The used part of NCCL 2.14's nccl.h, which later versions of NCCL 2 keep (tests/modules/nccl_wheel_test.py).
#pragma once

#include <cstddef>

namespace stretto::modules::nccl {

struct ncclComm;
using Comm = ncclComm*;

struct UniqueId {
  char internal[128];
};

enum class Result : int {
  success = 0,
  unhandled_cuda_error = 1,
  system_error = 2,
  internal_error = 3,
  invalid_argument = 4,
  invalid_usage = 5,
  remote_error = 6,
  in_progress = 7
};

enum class Type : int { i8 = 0, u8 = 1, i32 = 2, u32 = 3, i64 = 4, u64 = 5, f16 = 6, f32 = 7, f64 = 8, bf16 = 9 };

enum class Op : int { sum = 0, prod = 1, max = 2, min = 3, avg = 4 };

// Newer libraries detect missing fields by size and version.
struct Config {
  std::size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef;
  unsigned version = 21400;
  int blocking = 1;
};

// `stream` is a cudaStream_t.
struct Functions {
  Result (*get_version)(int* version);
  Result (*get_unique_id)(UniqueId* id);
  Result (*comm_init_rank_config)(Comm* comm, int ranks, UniqueId id, int rank, Config* config);
  Result (*comm_finalize)(Comm comm);
  Result (*comm_destroy)(Comm comm);
  Result (*comm_abort)(Comm comm);
  Result (*comm_get_async_error)(Comm comm, Result* error);
  const char* (*get_error_string)(Result result);
  const char* (*get_last_error)(Comm comm);
  Result (*group_start)();
  Result (*group_end)();
  Result (*send)(const void* data, std::size_t count, Type type, int peer, Comm comm, void* stream);
  Result (*recv)(void* data, std::size_t count, Type type, int peer, Comm comm, void* stream);
  Result (*all_reduce)(const void* in, void* out, std::size_t count, Type type, Op op, Comm comm, void* stream);
  Result (*reduce)(const void* in, void* out, std::size_t count, Type type, Op op, int root, Comm comm, void* stream);
  Result (*reduce_scatter)(const void* in, void* out, std::size_t out_count, Type type, Op op, Comm comm, void* stream);
  Result (*all_gather)(const void* in, void* out, std::size_t in_count, Type type, Comm comm, void* stream);
  Result (*broadcast)(const void* in, void* out, std::size_t count, Type type, int root, Comm comm, void* stream);
};

}  // namespace stretto::modules::nccl
