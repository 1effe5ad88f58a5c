// What libstdc++ of GCC 8 has not, where members of its newer static library would bring a second copy of its state
// with them: that of the exceptions' handlers, and the categories of errors, which are compared by address.
#include <new>

namespace std {
void __throw_bad_array_new_length() { throw bad_array_new_length(); }
}  // namespace std

// std::exception_ptr: counting, which its constructor and destructor do too. A pointer is the exception's address.
void construct_copy(void** pointer, void* const* of) noexcept asm("_ZNSt15__exception_ptr13exception_ptrC1ERKS0_");
void destroy(void** pointer) noexcept asm("_ZNSt15__exception_ptr13exception_ptrD1Ev");
void add_reference(void** pointer) noexcept asm("_ZNSt15__exception_ptr13exception_ptr9_M_addrefEv");
void release(void** pointer) noexcept asm("_ZNSt15__exception_ptr13exception_ptr10_M_releaseEv");

void add_reference(void** pointer) noexcept {
  void* copy;
  construct_copy(&copy, pointer);
}

void release(void** pointer) noexcept {
  destroy(pointer);
  *pointer = nullptr;
}
