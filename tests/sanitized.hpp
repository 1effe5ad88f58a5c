// Builds under a sanitizer look for errors of memory and of threads, which fewer numbers of ranks show as well: what takes their time walks through
// every `stride`-th there, and through all elsewhere.
#pragma once

#ifdef STRETTO_SANITIZED
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

inline constexpr int stride_if_sanitized(int stride) { return sanitized ? stride : 1; }
