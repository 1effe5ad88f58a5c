// Builds under a sanitizer look for memory and thread errors, which fewer ranks show as well: slow tests take every
// `stride`-th number there, and all numbers elsewhere.
#pragma once

#ifdef STRETTO_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

inline constexpr int stride_if_sanitized(int stride) { return kSanitized ? stride : 1; }
