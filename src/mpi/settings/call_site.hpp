// Location of a call in the program.
#pragma once

#include <string>

namespace stretto::mpi {

// "object:function": the file name of the code without its directory, and the function in its dynamic symbol table.
// "object:+0x1234", the offset in the object, if there is no symbol.
std::string name_of_site(const void* address);

}  // namespace stretto::mpi
