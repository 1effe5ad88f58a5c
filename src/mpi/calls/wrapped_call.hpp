// Filled in by generated wrappers (generate.py).
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>

#include "mpi/operations.hpp"

#define STRETTO_WRAPPER extern "C" __attribute__((visibility("default")))

// MPI 4.1 functions that test several requests without completing any.
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
#define STRETTO_ASKS_SEVERAL
#endif

namespace stretto::mpi {

enum class Form : std::uint8_t { blocking, nonblocking, persistent };

class Numbers {
 public:
  Numbers() = default;
  Numbers(const int* at) noexcept : at_(at), wide_(false) {}
  template <class Wide>
  requires(sizeof(Wide) == 8) Numbers(const Wide* at)
  noexcept : at_(at), wide_(true) {}

  explicit operator bool() const noexcept { return at_ != nullptr; }
  std::int64_t operator[](int i) const noexcept {
    return wide_ ? static_cast<const std::int64_t*>(at_)[i] : static_cast<const int*>(at_)[i];
  }

 private:
  const void* at_ = nullptr;
  bool wide_ = false;
};

// Only the operation's members are set. A count or type for both sides is in both members.
struct WrappedCall {
  WrappedCall(Function o, Form f, const void* s) noexcept : operation(o), form(f), site(s) {}

  Function operation;
  Form form;
  const void* site;  // return address in the program
  const void* sendbuf = nullptr;
  void* recvbuf = nullptr;
  std::int64_t sendcount = 0, recvcount = 0;
  Numbers recvcounts, displs;
  MPI_Datatype sendtype = MPI_DATATYPE_NULL, recvtype = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
  int root = 0;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Request* request = nullptr;  // set if served, else by `native`
};

// References its maker's variables.
class Native {
 public:
  template <class Function>
  Native(const Function& f) noexcept
      : function_(&f), call_([](const void* p) { return (*static_cast<const Function*>(p))(); }) {}
  int operator()() const { return call_(function_); }

 private:
  const void* function_;
  int (*call_)(const void*);
};

}  // namespace stretto::mpi
