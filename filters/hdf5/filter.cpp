// stretto as a filter of HDF5: each chunk of a dataset is one stream (docs/python.md, "HDF5"). HDF5 finds it by
// HDF5_PLUGIN_PATH, or a program registers what H5PLget_plugin_info gives.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "codec/suspect.hpp"
#include "elements.hpp"
#include "hdf5.hpp"
#include "stretto/stretto_stream.h"

namespace stretto::hdf5 {
namespace {

constexpr int kFilterId = 451;  // of the range 256 to 511, which is for private use

// The settings of a dataset: three words of the user, three from its type and its chunks, then the number of marks of
// missing data and two words for each, a float64. Datasets without marks end before their number, unless they are
// shaped: then the number of axes of a chunk and two words for each, its extent, follow the marks.
enum Word : unsigned { kind, bound_low, bound_high, type, values_low, values_high, words };
constexpr unsigned kMarksAt = words + 1, kMostWords = kMarksAt + 2 * STRETTO_MARKS_MAX + 1 + 2 * STRETTO_AXES_MAX;
enum Kind : unsigned { lossless, absolute, relative, kinds };
constexpr unsigned kDense = 256;  // added to the kind: streams are dense; added twice: predicted along several axes

constexpr int kRefused = -1;
constexpr double kExact =
    5e-324;  // what a bound relative to a range of 0 asks for: values go into the stream as they are
constexpr std::size_t kValuesAByte = 4096;  // that a stream can hold at most

struct Settings {
  Kind kind;
  unsigned coding;  // a flag of stretto_stream.h
  double bound;
  stretto_type type;
  std::uint64_t values;  // in a chunk
  std::vector<double> marks;
  bool is_shaped;
  std::vector<std::uint64_t> extents;  // of a chunk, if it is shaped
};

std::uint64_t joined(unsigned low, unsigned high) { return std::uint64_t{high} << 32 | low; }

bool fails(const Library& hdf5, const char* message) noexcept {
  hdf5.error(message);
  return false;
}

bool read_user_settings(const Library& hdf5, std::size_t n, const unsigned* told, Settings& settings) noexcept {
  const unsigned told_kind = n < type ? kinds : told[kind] % kDense;
  if (told_kind >= kinds || told[kind] / kDense > 2)
    return fails(hdf5,
                 "stretto's filter takes three numbers: 0 lossless, 1 absolute or 2 relative, and 256 more for dense, "
                 "512 for shaped streams; the bound, a float64, as its lower and its upper 32 bits");
  settings.kind = static_cast<Kind>(told_kind);
  settings.coding = told[kind] >= kDense ? STRETTO_DENSE : STRETTO_FIXED;
  settings.is_shaped = told[kind] >= 2 * kDense;
  settings.bound = std::bit_cast<double>(joined(told[bound_low], told[bound_high]));
  if (settings.kind != lossless && !(settings.bound > 0 && settings.bound <= 1.7976931348623157e308))
    return fails(hdf5, "the bound of stretto's filter is not finite and positive");
  return true;
}

// The user's marks, or those that a dataset has.
bool read_marks(const Library& hdf5, std::size_t n, const unsigned* told, Settings& settings) {
  if (n <= words) return true;
  const unsigned count = told[words];
  if (count > STRETTO_MARKS_MAX || n < kMarksAt + 2 * std::size_t{count})
    return fails(hdf5, "the settings of stretto's filter hold more than 16 marks, or fewer than they say");
  for (unsigned i = 0; i < count; ++i)
    settings.marks.push_back(std::bit_cast<double>(joined(told[kMarksAt + 2 * i], told[kMarksAt + 2 * i + 1])));
  return true;
}

bool read_extents(const Library& hdf5, std::size_t n, const unsigned* told, Settings& settings) {
  if (!settings.is_shaped) return true;
  const std::size_t at = kMarksAt + 2 * settings.marks.size();
  const unsigned axes = n > at ? told[at] : 0;
  if (axes < 1 || axes > STRETTO_AXES_MAX || n < at + 1 + 2 * std::size_t{axes})
    return fails(hdf5, "the settings of stretto's filter do not say which shape a chunk has");
  std::uint64_t left = settings.values;
  for (unsigned k = 0; k < axes; ++k) {
    const std::uint64_t extent = joined(told[at + 1 + 2 * k], told[at + 2 + 2 * k]);
    if (extent == 0 || left % extent != 0)
      return fails(hdf5, "the settings of stretto's filter give chunks a shape of another size");
    left /= extent;
    settings.extents.push_back(extent);
  }
  return left == 1 || fails(hdf5, "the settings of stretto's filter give chunks a shape of another size");
}

// The extents of a chunk as the codec takes them: without those of 1, and with the slowest ones joined where there are
// many.
std::vector<std::uint64_t> extents_of(const std::uint64_t* chunk, int dimensions, unsigned values) {
  std::vector<std::uint64_t> found;
  for (int i = 0; i < dimensions; ++i)
    if (chunk[i] != 1) found.push_back(chunk[i]);
  if (values > 1) found.push_back(values);
  if (found.empty()) found.push_back(1);
  for (; found.size() > STRETTO_AXES_MAX; found.erase(found.begin())) found[1] *= found[0];
  return found;
}

// True if no filter stands before this one in the pipeline of `properties`. Shuffled bytes, for example, are no
// numbers: rounding them within a bound destroys the data without an error.
bool comes_first(const Library& hdf5, Id properties) noexcept {
  using Get = int (*)(Id, unsigned, unsigned*, std::size_t*, unsigned*, std::size_t, char*, unsigned*);
  const auto get = hdf5.symbol<Get>("H5Pget_filter2");
  std::size_t no_words = 0;
  return !get || get(properties, 0, nullptr, &no_words, nullptr, 0, nullptr, nullptr) == kFilterId;
}

// Adds the fill value that the dataset's creator chose. HDF5's default of 0 is no mark, and NaN needs none.
void add_fill_value(const Library& hdf5, Id properties, Id type_id, const Elements& elements, Settings& settings) {
  constexpr int user_defined = 2;  // H5D_FILL_VALUE_USER_DEFINED
  const auto defined = hdf5.symbol<int (*)(Id, int*)>("H5Pfill_value_defined");
  const auto get = hdf5.symbol<int (*)(Id, Id, void*)>("H5Pget_fill_value");
  const auto float64 = hdf5.symbol<const Id*>("H5T_NATIVE_DOUBLE_g");
  int state = 0;
  if (!defined || !get || !float64 || defined(properties, &state) < 0 || state != user_defined) return;
  double found[2] = {};
  if (elements.values == 1) {
    if (get(properties, *float64, found) < 0) return;
    found[1] = found[0];
  } else if (elements.type == STRETTO_F64) {
    if (get(properties, type_id, found) < 0) return;
  } else {
    float parts[2] = {};
    if (get(properties, type_id, parts) < 0) return;
    std::copy(parts, parts + 2, found);
  }
  for (const double mark : found) {
    auto& marks = settings.marks;
    if (std::isfinite(mark) && std::find(marks.begin(), marks.end(), mark) == marks.end()) marks.push_back(mark);
  }
}

bool read_settings(const Library& hdf5, std::size_t n, const unsigned* told, Settings& settings) {
  if (!read_user_settings(hdf5, n, told, settings)) return false;
  if (n < words || told[type] < STRETTO_F32 || told[type] > STRETTO_U64)
    return fails(hdf5, "the settings of stretto's filter do not say what the elements are");
  settings.type = static_cast<stretto_type>(told[type]);
  settings.values = joined(told[values_low], told[values_high]);
  return read_marks(hdf5, n, told, settings) && read_extents(hdf5, n, told, settings);
}

bool is_floating(stretto_type of) {
  return of == STRETTO_F32 || of == STRETTO_F64 || of == STRETTO_F16 || of == STRETTO_BF16;
}

// The type of the chunks' streams: without loss the bits are integers, as in a container.
stretto_type stream_type(const Settings& s) {
  return s.kind != lossless ? s.type : stretto_type_size(s.type) == 8 ? STRETTO_I64 : STRETTO_I32;
}

bool is_narrow(const Settings& s) { return s.kind == lossless && stretto_type_size(s.type) < 4; }

template <class From>
void widen(const void* values, std::size_t n, std::int32_t* out) {
  const auto* from = static_cast<const From*>(values);
  for (std::size_t i = 0; i < n; ++i) out[i] = from[i];
}

void widen(stretto_type from, const void* values, std::size_t n, std::int32_t* out) {
  if (from == STRETTO_I8) return widen<std::int8_t>(values, n, out);
  if (from == STRETTO_U8) return widen<std::uint8_t>(values, n, out);
  if (from == STRETTO_I16) return widen<std::int16_t>(values, n, out);
  widen<std::uint16_t>(values, n, out);
}

template <class To>
void narrow(const std::int32_t* from, std::size_t n, void* values) {
  auto* to = static_cast<To*>(values);
  for (std::size_t i = 0; i < n; ++i) to[i] = static_cast<To>(from[i]);
}

// Where the bound is relative, values of 1e15 and more are missing data, too.
stretto_missing missing(const Settings& s) {
  return {sizeof(stretto_missing), s.marks.data(), s.marks.size(), s.kind == relative ? 0 : HUGE_VAL};
}

double eps_of(const Settings& s, const void* values) {
  if (s.kind != relative) return s.kind == lossless ? 1 : s.bound;
  double low = 0, high = 0;
  std::uint64_t ignored = 0;
  const stretto_missing left_out = missing(s);
  if (stretto_value_range_missing(s.type, values, s.values, &left_out, &low, &high, &ignored) != STRETTO_OK ||
      !(high > low))
    return kExact;
  const double eps = s.bound * (high / 2 - low / 2) * 2;
  return eps > kExact ? eps : kExact;
}

// What takes the place of the chunk in *buffer; 0 after a failure, whose message is on HDF5's stack.
std::size_t replaced(const Library& hdf5, void* made, std::size_t bytes, std::size_t room, std::size_t* capacity,
                     void** buffer) {
  hdf5.free(*buffer);
  *buffer = made;
  *capacity = room;
  return bytes;
}

// Once in a process: filters have no way to say more than that a chunk failed.
void tell_of_suspect(const Settings& s, const void* values) {
  static std::atomic<bool> told{false};
  if (s.kind == lossless || !s.marks.empty() || told.load(std::memory_order_relaxed)) return;
  const auto among = [&]<class T>(const T* x) {
    return codec::suspect_among(s.values, [x](std::size_t i) { return double{x[i]}; });
  };
  const double found = s.type == STRETTO_F32   ? among(static_cast<const float*>(values))
                       : s.type == STRETTO_F64 ? among(static_cast<const double*>(values))
                                               : 0;
  if (found == 0 || told.exchange(true)) return;
  std::fprintf(stderr,
               "stretto: a tenth or more of a chunk's values are %.9g, far from all others, and are taken as data; a "
               "fill value of %.9g, set before the dataset is made, keeps them as missing data\n",
               found, found);
}

std::size_t encode(const Library& hdf5, const Settings& s, std::size_t bytes, std::size_t* capacity, void** buffer) {
  const std::size_t n = s.values;
  if (bytes != n * stretto_type_size(s.type))
    return fails(hdf5, "a chunk has not the size that stretto's filter was told");
  std::vector<std::int32_t> wide;
  const void* values = *buffer;
  if (is_narrow(s)) {
    wide.resize(n);
    widen(s.type, *buffer, n, wide.data());
    values = wide.data();
  }
  const stretto_type of = stream_type(s);
  const std::size_t room = stretto_compress_bound(of, n);
  void* const made = hdf5.allocate(room);
  if (!made) return fails(hdf5, "no memory for a stream");
  std::size_t written = 0;
  const stretto_missing kept = missing(s);
  tell_of_suspect(s, values);
  const double eps = eps_of(s, values);
  const stretto_status status =
      s.is_shaped
          ? stretto_compress_shaped(of, values, s.extents.data(), static_cast<int>(s.extents.size()), eps, &kept, made,
                                    room, &written, STRETTO_CHECKSUM)
          : stretto_compress_missing(of, values, n, eps, &kept, made, room, &written, STRETTO_CHECKSUM | s.coding);
  if (status != STRETTO_OK) {
    hdf5.error(stretto_message());
    hdf5.free(made);
    return 0;
  }
  return replaced(hdf5, made, written, room, capacity, buffer);
}

std::size_t decode(const Library& hdf5, const Settings& s, std::size_t bytes, std::size_t* capacity, void** buffer) {
  stretto_stream_info info;
  if (stretto_inspect(*buffer, bytes, &info) != STRETTO_OK) return fails(hdf5, stretto_message());
  if (info.type != stream_type(s) || info.count != s.values || info.count > kValuesAByte * bytes)
    return fails(hdf5, "a chunk's stream has another type or count than the dataset");
  const std::size_t n = s.values, room = n * stretto_type_size(s.type);
  std::vector<std::int32_t> wide(is_narrow(s) ? n : 0);
  void* const made = hdf5.allocate(room > 0 ? room : 1);
  if (!made) return fails(hdf5, "no memory for the values of a stream");
  if (stretto_decompress(*buffer, bytes, is_narrow(s) ? wide.data() : made, n, 1) != STRETTO_OK) {
    hdf5.error(stretto_message());
    hdf5.free(made);
    return 0;
  }
  if (is_narrow(s)) {
    if (stretto_type_size(s.type) == 1)
      narrow<std::uint8_t>(wide.data(), n, made);
    else
      narrow<std::uint16_t>(wide.data(), n, made);
  }
  return replaced(hdf5, made, room, room, capacity, buffer);
}

extern "C" {

// At the creation of a dataset: its type, the values of a chunk and its fill value join the settings. Negative where
// the type has no streams.
int stretto_hdf5_set_local(Id properties, Id type_id, Id) {
  const Library hdf5(__builtin_return_address(0));
  using Get = int (*)(Id, int, unsigned*, std::size_t*, unsigned*, std::size_t, char*, unsigned*);
  const auto get = hdf5.symbol<Get>("H5Pget_filter_by_id2");
  const auto modify = hdf5.symbol<int (*)(Id, int, unsigned, std::size_t, const unsigned*)>("H5Pmodify_filter");
  const auto chunk_of = hdf5.symbol<int (*)(Id, int, std::uint64_t*)>("H5Pget_chunk");
  const char* why = kNoFunctions;
  const auto elements = get && modify && chunk_of ? elements_of(hdf5, type_id, &why) : std::nullopt;
  if (!elements) {
    hdf5.error(why);
    return kRefused;
  }
  unsigned flags = 0, told[kMostWords] = {};
  std::size_t n = kMostWords;
  std::uint64_t chunk[kMostDimensions];
  const int dimensions = chunk_of(properties, kMostDimensions, chunk);
  if (get(properties, kFilterId, &flags, &n, told, 0, nullptr, nullptr) < 0 || dimensions < 0) return kRefused;
  Settings settings{};
  n = std::min<std::size_t>(n, kMostWords);
  if (!read_user_settings(hdf5, n, told, settings)) return kRefused;
  if (settings.kind != lossless && !is_floating(elements->type)) {
    hdf5.error("integers are lossless; a bound of stretto's filter has no meaning for them");
    return kRefused;
  }
  if (settings.kind != lossless && !comes_first(hdf5, properties)) {
    hdf5.error(
        "within a bound stretto's filter is the first of a dataset: leave out shuffle, scaleoffset, gzip and others "
        "before it");
    return kRefused;
  }
  std::uint64_t values = elements->values;
  for (int i = 0; i < dimensions; ++i) values *= chunk[i];
  told[type] = elements->type;
  told[values_low] = static_cast<unsigned>(values);
  told[values_high] = static_cast<unsigned>(values >> 32);
  if (settings.kind == lossless && !settings.is_shaped) return modify(properties, kFilterId, flags, words, told);
  std::vector<std::uint64_t> extents;
  try {
    if (settings.is_shaped) extents = extents_of(chunk, dimensions, elements->values);
    if (settings.kind != lossless && !read_marks(hdf5, n, told, settings)) return kRefused;
    if (settings.kind != lossless) add_fill_value(hdf5, properties, type_id, *elements, settings);
  } catch (const std::bad_alloc&) {
    hdf5.error("no memory for the marks of stretto's filter");
    return kRefused;
  }
  const std::size_t count = settings.marks.size();
  if (count > STRETTO_MARKS_MAX) {
    hdf5.error("stretto's filter takes 16 marks, the fill value among them");
    return kRefused;
  }
  told[words] = static_cast<unsigned>(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto bits = std::bit_cast<std::uint64_t>(settings.marks[i]);
    told[kMarksAt + 2 * i] = static_cast<unsigned>(bits);
    told[kMarksAt + 2 * i + 1] = static_cast<unsigned>(bits >> 32);
  }
  std::size_t end = kMarksAt + 2 * count;
  if (!settings.is_shaped) return modify(properties, kFilterId, flags, count == 0 ? std::size_t{words} : end, told);
  told[end++] = static_cast<unsigned>(extents.size());
  for (const std::uint64_t extent : extents) {
    told[end++] = static_cast<unsigned>(extent);
    told[end++] = static_cast<unsigned>(extent >> 32);
  }
  return modify(properties, kFilterId, flags, end, told);
}

std::size_t stretto_hdf5_filter(unsigned flags, std::size_t n, const unsigned* told, std::size_t bytes,
                                std::size_t* capacity, void** buffer) {
  const Library hdf5(__builtin_return_address(0));
  try {
    Settings settings{};
    if (!read_settings(hdf5, n, told, settings)) return 0;
    return flags & kReverse ? decode(hdf5, settings, bytes, capacity, buffer)
                            : encode(hdf5, settings, bytes, capacity, buffer);
  } catch (const std::bad_alloc&) {
    return fails(hdf5, "no memory for a chunk");
  }
}
}

constexpr FilterClass kDescription{kClassVersion,          kFilterId,          1, 1, "stretto", nullptr,
                                   stretto_hdf5_set_local, stretto_hdf5_filter};

}  // namespace
}  // namespace stretto::hdf5

extern "C" {

// H5PL_type_t; HDF5 looks for both in each library of HDF5_PLUGIN_PATH.
STRETTO_API int H5PLget_plugin_type() { return stretto::hdf5::kPluginOfFilters; }

STRETTO_API const void* H5PLget_plugin_info() { return &stretto::hdf5::kDescription; }
}
