// What the filter uses of HDF5's binary interface (1.10 and later), declared here so that no header of it is needed.
// Its functions are those of the HDF5 that called the filter: a process may hold several, and none of them where others
// see it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stretto::hdf5 {

using Id = std::int64_t;  // hid_t

extern "C" {

using CanApply = int (*)(Id properties, Id type, Id space);  // htri_t
using SetLocal = int (*)(Id properties, Id type, Id space);  // herr_t
using Filter = std::size_t (*)(unsigned flags, std::size_t words, const unsigned* settings, std::size_t bytes,
                               std::size_t* capacity, void** buffer);

// H5Z_class2_t
struct FilterClass {
  int version;
  int id;
  unsigned encodes, decodes;
  const char* name;
  CanApply can_apply;
  SetLocal set_local;
  Filter filter;
};
}

constexpr int kClassVersion = 1;          // H5Z_CLASS_T_VERS
constexpr int kPluginOfFilters = 0;       // H5PL_TYPE_FILTER
constexpr unsigned kReverse = 0x0100;     // H5Z_FLAG_REVERSE
constexpr unsigned kMostDimensions = 32;  // H5S_MAX_RANK

enum class Class { Integer = 0, Float = 1, Compound = 6, Complex = 11 };  // H5T_class_t

// Why a dataset is not made: HDF5's functions are hidden, or not among those that were linked.
constexpr const char* kNoFunctions =
    "it finds no functions of HDF5 1.10 or later. A program with HDF5 linked statically reads datasets of this filter "
    "and makes none: link HDF5 as a shared library";

// Functions of the HDF5 whose code `caller` is in.
class Library {
 public:
  explicit Library(const void* caller) noexcept;
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  // The function or variable of that name; null where there is none.
  template <class Type>
  Type symbol(const char* name) const noexcept {
    return reinterpret_cast<Type>(find(name));
  }

  // Memory that HDF5 frees, and that it has allocated.
  void* allocate(std::size_t bytes) const noexcept;
  void free(void* memory) const noexcept;

  // Puts a message on HDF5's stack of errors, or prints it where HDF5 is linked statically and shows no such stack.
  void error(const char* message) const noexcept;

 private:
  void* find(const char* name) const noexcept;

  void* handle_ = nullptr;
};

}  // namespace stretto::hdf5
