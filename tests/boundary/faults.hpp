// System calls that fail on purpose: the n-th of one kind that stretto asks the C library for, once.
//
// A program that links this has functions of its own in place of the C library's. They count calls of stretto's
// libraries, or of the program where it holds stretto's floors itself. Calls by an MPI pass uncounted.
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
