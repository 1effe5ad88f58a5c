// fmt's functions for an archive of ours: systems have them as a shared library alone. Templates of which fmt's headers
// say that its library has them are those that our sources use.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {
template FMT_API auto dragonbox::to_decimal(float) noexcept -> dragonbox::decimal_fp<float>;
template FMT_API auto dragonbox::to_decimal(double) noexcept -> dragonbox::decimal_fp<double>;
template FMT_API auto thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template FMT_API auto decimal_point_impl(locale_ref) -> char;
template FMT_API void buffer<char>::append(const char*, const char*);
#if FMT_VERSION < 90000
template FMT_API int format_float(double, int, float_specs, buffer<char>&);
template FMT_API int format_float(long double, int, float_specs, buffer<char>&);
template FMT_API int snprintf_float(double, int, float_specs, buffer<char>&);
template FMT_API int snprintf_float(long double, int, float_specs, buffer<char>&);
#endif
#if FMT_VERSION >= 100000
template FMT_API void vformat_to(buffer<char>&, string_view, vformat_args<char>::type, locale_ref);
#endif
}  // namespace detail
FMT_END_NAMESPACE
