// Injected system call failures: the n-th call of one kind that stretto makes to the C library fails, once.
//
// A program that links this file overrides the C library's functions. They count calls of stretto's libraries, or of
// the program if it contains stretto's floors. Calls by an MPI are not counted.
#pragma once

#include <span>

namespace boundary {

struct Fault {
  const char* call;
  int error;  // errno
};

// Every kind that stretto uses, with an error that the kernel, a limit or a filter gives for it.
std::span<const Fault> faults() noexcept;

// While one lives, call number n of the kind (from 0) fails, on any thread.
class Fails {
 public:
  Fails(const Fault& fault, long n) noexcept;
  ~Fails();
  Fails(const Fails&) = delete;
  Fails& operator=(const Fails&) = delete;
  bool struck() const noexcept;  // it has failed
};

// For a program that holds stretto's floors itself.
void count_the_program() noexcept;

// From now on each call of the kind fails; for two kinds at most.
void always(const Fault& fault) noexcept;
void never_again() noexcept;  // ends always()

}  // namespace boundary
