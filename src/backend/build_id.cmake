# Writes OUTPUT, a header with the build's id: of the headers in LIST (a file with their names), and of COMPILER.
file(STRINGS ${LIST} headers)
set(all "${COMPILER}")
foreach(header IN LISTS headers)
  file(SHA256 ${header} hash)
  string(APPEND all " ${hash}")
endforeach()
string(SHA256 id "${all}")
string(SUBSTRING ${id} 0 12 id)
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT [[
// Generated: differs where classes that core and modules share may.
#pragma once

namespace stretto::backend {
inline constexpr const char* build_id = "@id@";
}  // namespace stretto::backend
]] @ONLY)
