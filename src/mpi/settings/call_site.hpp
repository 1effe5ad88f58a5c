// Where in the program a call stands.
#pragma once

#include <string>

namespace stretto::mpi {

// "object:function", the file that holds the code without its directory and the function as its dynamic symbol table names it;
// "object:+0x1234", from where the object begins, where it names none.
std::string name_of_site(const void* address);

}  // namespace stretto::mpi
