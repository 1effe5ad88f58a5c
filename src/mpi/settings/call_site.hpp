#pragma once

#include <string>

namespace stretto::mpi {

// "object:function" (file name and dynamic symbol), else "object:+0x1234".
std::string name_of_site(const void* address);

}  // namespace stretto::mpi
