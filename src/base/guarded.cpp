#include "base/guarded.hpp"

#include <array>
#include <exception>
#include <new>
#include <stdexcept>
#include <system_error>

namespace stretto {
namespace {

struct Text {
  std::array<char, 200> chars;
  std::size_t size;

  Text(fmt::string_view format, bool is_format, std::uint64_t number) {
    const auto all = is_format ? fmt::format_to_n(chars.data(), chars.size(), fmt::runtime(format), number)
                               : fmt::format_to_n(chars.data(), chars.size(), "{}", format);
    size = all.size < chars.size() ? all.size : chars.size();
  }
  std::string_view view() const noexcept { return {chars.data(), size}; }
};

bool lacks_memory_or_threads(const std::system_error& e) noexcept {
  return e.code() == std::errc::not_enough_memory || e.code() == std::errc::resource_unavailable_try_again;
}

}  // namespace

Status Purpose::fail() const noexcept {
  return stretto::fail(Status::out_of_memory, "no memory {}", Text(text_, is_format_, number_).view());
}

Status Purpose::fail_caught() const noexcept {
  const char* what = "of an unknown type";
  const auto fail_with = [&] {
    return stretto::fail(Status::internal, "an exception where memory was wanted {}: {}",
                         Text(text_, is_format_, number_).view(), what);
  };
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return fail();
  } catch (const std::length_error&) {
    return fail();
  } catch (const std::system_error& e) {
    if (lacks_memory_or_threads(e)) return fail();
    what = e.what();
    return fail_with();
  } catch (const std::exception& e) {
    what = e.what();
    return fail_with();
  } catch (...) {
    return fail_with();
  }
}

}  // namespace stretto
