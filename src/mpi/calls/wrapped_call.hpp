// A call of an MPI collective as the wrappers (generate.py) hand it on.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>

#include "mpi/operations.hpp"

#define STRETTO_WRAPPER extern "C" __attribute__((visibility("default")))

// MPI 4.1: there are functions that ask of several requests and complete none.
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
#define STRETTO_ASKS_SEVERAL
#endif

namespace stretto::mpi {

enum class Form : std::uint8_t { blocking, nonblocking, persistent };

// Counts or displacements of all ranks: int's, or of 64 bits in the forms for large counts.
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

// Only what the operation has is set. Where it has one count or type for both sides, both are that.
struct WrappedCall {
  WrappedCall(Function o, Form f, const void* s) noexcept : operation(o), form(f), site(s) {}

  Function operation;
  Form form;
  const void* site;  // where the program called
  const void* sendbuf = nullptr;
  void* recvbuf = nullptr;
  std::int64_t sendcount = 0, recvcount = 0;
  Numbers recvcounts, displs;
  MPI_Datatype sendtype = MPI_DATATYPE_NULL, recvtype = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
  int root = 0;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Request* request = nullptr;  // of a nonblocking call: set where it is served, else `native` sets the program's
};

// The same call of the MPI's own. Refers to what made it.
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
