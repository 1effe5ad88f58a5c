// The codec: streams are bytes objects, written in place and shortened.
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "codec/suspect.hpp"
#include "errors.hpp"
#include "parts.hpp"
#include "payload/arithmetic/half.hpp"
#include "stretto/stretto_stream.h"
#include "view.hpp"

namespace nb = nanobind;

namespace stretto::python {
namespace {

// Sets the codec's threads during one call of this thread.
class Threads {
 public:
  explicit Threads(int threads) noexcept : threads_(threads) {
    if (threads_ != 1) status_ = stretto_use_threads(threads_);
  }
  ~Threads() {
    if (threads_ != 1 && status_ == STRETTO_OK) static_cast<void>(stretto_use_threads(1));
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  stretto_status status() const noexcept { return status_; }

 private:
  const int threads_;
  stretto_status status_ = STRETTO_OK;
};

// Runs work() without the GIL.
template <class Work>
stretto_status work_aside(int threads, const Work& work) {
  const nb::gil_scoped_release others;
  const Threads shared(threads);
  return shared.status() == STRETTO_OK ? work() : shared.status();
}

// A stream written by work(out, capacity, &written). `bound` bytes suffice; `likely` bytes are tried first. The
// allocator reuses memory of about the stream's size from freed streams, while fresh memory of the whole bound costs
// more than the codec's work.
template <class Work>
nb::object stream(std::size_t likely, std::size_t bound, int threads, const Work& work) {
  for (std::size_t capacity = std::min(likely, bound);; capacity = bound) {
    PyObject* bytes = PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(capacity));
    if (!bytes) throw nb::python_error();
    nb::object owner = nb::steal(bytes);
    char* const out = PyBytes_AsString(bytes);
    std::size_t written = 0;
    const stretto_status status = work_aside(threads, [&] { return work(out, capacity, &written); });
    if (status == STRETTO_BUFFER_TOO_SMALL && capacity < bound) continue;
    check(status);
#ifdef Py_LIMITED_API  // which has no function that shortens bytes
    PyObject* const exact = PyBytes_FromStringAndSize(out, static_cast<Py_ssize_t>(written));
    if (!exact) throw nb::python_error();
    return nb::steal(exact);
#else
    owner.release();
    if (_PyBytes_Resize(&bytes, static_cast<Py_ssize_t>(written)) != 0) throw nb::python_error();
    return nb::steal(bytes);
#endif
  }
}

constexpr std::size_t kSlack = 8192;  // bytes that the codec needs past its output, and some groups

// Largest bits per value of this thread's recent streams, decaying.
thread_local double lately = 64;

std::size_t elements(const View& values, stretto_type type) { return values.bytes() / stretto_type_size(type); }

unsigned flags(bool checksum, stretto_coding coding = STRETTO_CODING_AUTO) {
  const unsigned of_coding = coding == STRETTO_CODING_DENSE   ? STRETTO_DENSE
                             : coding == STRETTO_CODING_FIXED ? STRETTO_FIXED
                                                              : 0;
  return (checksum ? STRETTO_CHECKSUM : 0) | of_coding;
}

stretto_stream_info inspected(const View& s) {
  stretto_stream_info info;
  check(stretto_inspect(s.data(), s.bytes(), &info));
  return info;
}

stretto_missing missing(const std::vector<double>& marks, double ignore_above) {
  return {sizeof(stretto_missing), marks.data(), marks.size(), ignore_above};
}

// ignore_above: 0 for the default, infinity for none. shape: extents of the values, which are then predicted along
// several axes; empty for a stream of this coding.
nb::object compress(stretto_type type, nb::handle values, double eps, bool checksum, int threads,
                    const std::vector<double>& marks, double ignore_above, stretto_coding coding,
                    const std::vector<std::uint64_t>& shape) {
  const stretto_missing kept = missing(marks, ignore_above);
  const View v = View::read(values);
  const std::size_t n = elements(v, type), bound = stretto_compress_bound(type, n);
  std::uint64_t of_shape = 1;
  for (const std::uint64_t extent : shape) of_shape *= extent;
  if (!shape.empty() && of_shape != n) throw nb::value_error("the extents of the shape are not those of the values");
  // Several threads divide the room by their bounds.
  const double likely = threads == 1 ? lately * 1.05 / 8 * static_cast<double>(n) + kSlack : static_cast<double>(bound);
  nb::object made =
      stream(static_cast<std::size_t>(likely), bound, threads, [&](void* out, std::size_t room, std::size_t* written) {
        if (!shape.empty())
          return stretto_compress_shaped(type, v.data(), shape.data(), static_cast<int>(shape.size()), eps, &kept, out,
                                         room, written, flags(checksum));
        return stretto_compress_missing(type, v.data(), n, eps, &kept, out, room, written, flags(checksum, coding));
      });
  if (n > kSlack) {
    const double bits = 8 * static_cast<double>(nb::len(made)) / static_cast<double>(n);
    lately = std::max(bits, lately - lately / 8);
  }
  return made;
}

void decompress(nb::handle bytes, nb::handle out, unsigned divisor, int threads) {
  const View s = View::read(bytes), v = View::write(out);
  const std::size_t n = elements(v, inspected(s).type);
  check(work_aside(threads, [&] { return stretto_decompress(s.data(), s.bytes(), v.data(), n, divisor); }));
}

nb::tuple inspect(nb::handle bytes) {
  const View s = View::read(bytes);
  const stretto_stream_info i = inspected(s);
  std::uint64_t extents[STRETTO_AXES_MAX];
  int axes = 0;
  check(stretto_stream_shape(s.data(), s.bytes(), extents, &axes));
  return nb::make_tuple(i.type, i.contributions, i.count, i.bytes, i.code_bound, i.eps, i.width, i.promised_error,
                        i.checksum != 0,
                        axes > 0                           ? "shaped"
                        : i.coding == STRETTO_CODING_DENSE ? "dense"
                                                           : "fixed");
}

void validate(nb::handle bytes) {
  const View s = View::read(bytes);
  check(work_aside(1, [&] { return stretto_validate(s.data(), s.bytes()); }));
}

using Combine = decltype(&stretto_stream_add);

template <Combine function>
nb::object combine(nb::handle first, nb::handle second, bool checksum, int threads) {
  const View a = View::read(first), b = View::read(second);
  const stretto_stream_info of_a = inspected(a), of_b = inspected(b);
  const bool joins = function == &stretto_stream_concatenate;
  const std::size_t bound = stretto_combine_bound(of_a.type, joins ? of_a.count + of_b.count : of_a.count);
  return stream(a.bytes() + b.bytes() + kSlack, bound, threads, [&](void* out, std::size_t room, std::size_t* written) {
    return function(a.data(), a.bytes(), b.data(), b.bytes(), out, room, written, flags(checksum));
  });
}

nb::object add_values(nb::handle bytes, nb::handle values, bool checksum, int threads) {
  const View s = View::read(bytes), v = View::read(values);
  const stretto_stream_info info = inspected(s);
  const std::size_t n = elements(v, info.type);
  const std::size_t bound = stretto_combine_bound(info.type, n);
  return stream(2 * s.bytes() + kSlack, bound, threads, [&](void* out, std::size_t room, std::size_t* written) {
    return stretto_stream_add_values(s.data(), s.bytes(), v.data(), n, out, room, written, flags(checksum));
  });
}

nb::object scale(nb::handle bytes, int factor, bool checksum, int threads) {
  const View s = View::read(bytes);
  const stretto_stream_info info = inspected(s);
  const std::size_t bound = stretto_combine_bound(info.type, info.count);
  const auto more_bits = static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(factor < 0 ? -factor : factor)));
  return stream(s.bytes() + info.count / 8 * more_bits + kSlack, bound, threads,
                [&](void* out, std::size_t room, std::size_t* written) {
                  return stretto_stream_scale(s.data(), s.bytes(), factor, out, room, written, flags(checksum));
                });
}

nb::object slice(nb::handle bytes, std::size_t first, std::size_t n, bool checksum, int threads) {
  const View s = View::read(bytes);
  const stretto_stream_info info = inspected(s);
  const double part = static_cast<double>(n) / static_cast<double>(std::max<std::uint64_t>(info.count, 1));
  const double likely = 1.1 * part * static_cast<double>(s.bytes()) + kSlack;
  return stream(static_cast<std::size_t>(likely), stretto_combine_bound(info.type, n), threads,
                [&](void* out, std::size_t room, std::size_t* written) {
                  return stretto_stream_slice(s.data(), s.bytes(), first, n, out, room, written, flags(checksum));
                });
}

nb::tuple value_range(stretto_type type, nb::handle values, double ignore_above, int threads,
                      const std::vector<double>& marks) {
  const stretto_missing left_out = missing(marks, ignore_above);
  const View v = View::read(values);
  const std::size_t n = elements(v, type);
  double lo = 0, hi = 0;
  std::uint64_t ignored = 0;
  check(work_aside(threads,
                   [&] { return stretto_value_range_missing(type, v.data(), n, &left_out, &lo, &hi, &ignored); }));
  return nb::make_tuple(lo, hi, ignored);
}

double suspect(stretto_type type, nb::handle values) {
  const View v = View::read(values);
  const std::size_t n = elements(v, type);
  const auto among = [&]<class T>(const T* x) {
    return codec::suspect_among(n, [x](std::size_t i) -> double {
      if constexpr (std::is_same_v<T, payload::F16> || std::is_same_v<T, payload::BF16>)
        return payload::widen(x[i]);
      else
        return x[i];
    });
  };
  switch (type) {
    case STRETTO_F32: return among(static_cast<const float*>(v.data()));
    case STRETTO_F64: return among(static_cast<const double*>(v.data()));
    case STRETTO_F16: return among(static_cast<const payload::F16*>(v.data()));
    case STRETTO_BF16: return among(static_cast<const payload::BF16*>(v.data()));
    default: return 0;
  }
}

}  // namespace

void add_streams(nb::module_& m) {
  m.def("compress", &compress, nb::arg("type"), nb::arg("values"), nb::arg("eps"), nb::arg("checksum"),
        nb::arg("threads"), nb::arg("marks") = std::vector<double>(),
        nb::arg("ignore_above") = std::numeric_limits<double>::infinity(), nb::arg("coding") = STRETTO_CODING_AUTO,
        nb::arg("shape") = std::vector<std::uint64_t>());
  m.def("decompress", &decompress);
  m.def("inspect", &inspect);
  m.def("validate", &validate);
  m.def("add", &combine<&stretto_stream_add>);
  m.def("subtract", &combine<&stretto_stream_subtract>);
  m.def("min", &combine<&stretto_stream_min>);
  m.def("max", &combine<&stretto_stream_max>);
  m.def("concatenate", &combine<&stretto_stream_concatenate>);
  m.def("add_values", &add_values);
  m.def("scale", &scale);
  m.def("slice", &slice);
  m.def("suspect", &suspect, "A value that looks like a mark of missing data, by a sample; 0 where there is none.");
  m.def("value_range", &value_range, nb::arg("type"), nb::arg("values"), nb::arg("ignore_above"), nb::arg("threads"),
        nb::arg("marks") = std::vector<double>());
}

}  // namespace stretto::python
