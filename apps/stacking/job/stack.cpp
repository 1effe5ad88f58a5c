#include "job/stack.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include <fmt/core.h>

#include "stretto/stretto_mpi.h"
#include "stretto/stretto_stream.h"
#include "timing/mpi.hpp"

namespace stretto::stacking {
namespace {

// Values of this magnitude count as fill values, stretto's default.
constexpr double kFillValue = 1e15;

void require(stretto_status s, const std::string& doing) {
  if (s != STRETTO_OK) throw Problem(fmt::format("{}: {}: {}", doing, stretto_status_name(s), stretto_message()));
}

// A communicator of stretto over an MPI communicator, freed with the scope.
class Communicator {
 public:
  explicit Communicator(MPI_Comm parent) { require(stretto_comm_create(parent, &comm_), "making the communicator"); }
  ~Communicator() { static_cast<void>(stretto_comm_free(comm_)); }
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  stretto_comm get() const noexcept { return comm_; }

 private:
  stretto_comm comm_ = nullptr;
};

MPI_Datatype mpi_type(stretto_type type) { return type == STRETTO_F64 ? MPI_DOUBLE : MPI_FLOAT; }

template <class T>
void add_images(const T* images, std::uint64_t count, std::size_t values, T* out) {
  std::fill_n(out, values, T{0});
  for (std::uint64_t k = 0; k < count; ++k) {
    for (std::size_t i = 0; i < values; ++i) out[i] += images[k * values + i];
  }
}

// The rank's images added as floats, which plain MPI needs before its allreduce.
void add_own(const Images& im, std::vector<std::byte>& out) {
  if (im.type == STRETTO_F64) {
    add_images(reinterpret_cast<const double*>(im.data.data()), im.share.count, im.values,
               reinterpret_cast<double*>(out.data()));
  } else {
    add_images(reinterpret_cast<const float*>(im.data.data()), im.share.count, im.values,
               reinterpret_cast<float*>(out.data()));
  }
}

// Number of groups of ranks that share memory.
int hosts_of(MPI_Comm comm) {
  MPI_Comm host = MPI_COMM_NULL;
  int rank = 0;
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  MPI_Comm_rank(host, &rank);
  MPI_Comm_free(&host);
  int first = rank == 0 ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_SUM, comm);
  return first;
}

// Describes the values by the reference, if present.
void describe(const Reference& reference, Setting* s) {
  if (reference.sum.empty()) return;
  std::vector<double> known;
  for (std::size_t i = 0; i < reference.sum.size(); ++i) {
    if (reference.finite[i] == 0)
      ++s->not_finite;
    else if (is_fill(reference, i))
      ++s->fills;
    else if (reference.sum[i] != 0)
      known.push_back(std::abs(reference.sum[i]));
  }
  if (known.empty()) return;
  const auto at = known.begin() + static_cast<std::ptrdiff_t>((known.size() - 1) / 2);
  std::nth_element(known.begin(), at, known.end());
  s->usual = *at;
}

// The reference of all ranks, on rank 0.
Reference reference_of_all(MPI_Comm comm, const Images& im, double fills_from) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  Reference own;
  add_to_reference(im.type, im.data.data(), im.share.count, im.values, &own);
  const int n = static_cast<int>(im.values);
  const auto gather = [&](void* data, MPI_Datatype type, MPI_Op op) {
    MPI_Reduce(rank == 0 ? MPI_IN_PLACE : data, rank == 0 ? data : nullptr, n, type, op, 0, comm);
  };
  gather(own.sum.data(), MPI_DOUBLE, MPI_SUM);
  gather(own.magnitude.data(), MPI_DOUBLE, MPI_SUM);
  gather(own.finite.data(), MPI_UINT8_T, MPI_MIN);
  own.terms = static_cast<double>(im.shape.n);
  own.fills_from = fills_from;
  return own;
}

// Fills in the figures derived from the result's bytes.
void judge(MPI_Comm comm, const Images& im, const std::vector<std::byte>& result, const Reference& ref,
           const Promise& promise, Row* row) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  row->hash = hash(result.data(), result.size());
  std::uint64_t lowest_highest[2] = {~row->hash, row->hash};
  MPI_Allreduce(MPI_IN_PLACE, lowest_highest, 2, MPI_UINT64_T, MPI_MAX, comm);
  row->ranks_agree = ~lowest_highest[0] == lowest_highest[1];
  if (rank != 0) return;
  const Quality q = compare(im.type, result.data(), ref, promise);
  row->worst = q.worst;
  row->psnr = q.psnr;
  row->excess = q.excess;
  row->overflowed = q.overflowed;
  row->promised = largest_promise(im.type, ref, promise);
}

Row with_mpi(MPI_Comm comm, const Options& o, const Images& im, const Reference& ref, std::vector<std::byte>& result) {
  Row row{.schedule = "MPI_Allreduce", .payload = "-"};
  std::vector<std::byte> own(result.size());
  row.ms = timing::slowest_median_ms(
      comm, o.repeats,
      [&] {
        add_own(im, own);
        MPI_Allreduce(own.data(), result.data(), static_cast<int>(im.values), mpi_type(im.type), MPI_SUM, comm);
      },
      [] {});
  judge(comm, im, result, ref, {.roundings = static_cast<double>(im.shape.n), .partial_sums = true}, &row);
  return row;
}

// stretto's promise, and the roundings that it does not cover.
Promise promise_of(const Payload& p, double promised, std::uint64_t images) {
  if (p.in_code_space) return {.bound = promised, .roundings = 1};  // of the decoded sum to its type
  // Roundings of each raw sum, and of each decoding in between.
  return {.bound = promised, .roundings = 2 * static_cast<double>(images), .partial_sums = true};
}

Row with_stretto(MPI_Comm comm, stretto_comm narrow, const Options& o, const Images& im, const Reference& ref,
                 double eps, const std::string& schedule, const Payload& payload, std::vector<std::byte>& result) {
  Row row{.schedule = schedule, .payload = payload.name(), .in_code_space = payload.in_code_space};
  stretto_report report = STRETTO_REPORT_INIT;
  stretto_options options = STRETTO_OPTIONS_INIT;
  options.schedule = schedule.c_str();
  options.payload = payload.kind;
  options.bound_kind = STRETTO_BOUND_ABSOLUTE;
  options.scope = STRETTO_SCOPE_CONTRIBUTION;
  options.bound = eps;
  options.report = &report;
  std::vector<const void*> own;
  for (std::uint64_t k = 0; k < im.share.count; ++k) own.push_back(im.data.data() + k * result.size());
  std::vector<double> codec;
  row.ms = timing::slowest_median_ms(
      comm, o.repeats,
      [&] {
        require(stretto_allreduce_multi(own.data(), static_cast<int>(own.size()), result.data(), im.values, im.type,
                                        STRETTO_SUM, narrow, &options),
                fmt::format("{} {}", schedule, payload.name()));
      },
      [&] { codec.push_back(timing::largest(comm, report.codec_seconds) * 1e3); });
  row.codec_ms = timing::median(std::move(codec));
  std::uint64_t raw_sent[2] = {report.raw_bytes, report.bytes_sent};
  row.sent = report.bytes_sent;
  MPI_Allreduce(MPI_IN_PLACE, &row.sent, 1, MPI_UINT64_T, MPI_MAX, comm);
  MPI_Allreduce(MPI_IN_PLACE, raw_sent, 2, MPI_UINT64_T, MPI_SUM, comm);
  row.compression = raw_sent[1] > 0 ? static_cast<double>(raw_sent[0]) / static_cast<double>(raw_sent[1]) : 1;
  judge(comm, im, result, ref, promise_of(payload, report.promised_error, im.shape.n), &row);
  return row;
}

}  // namespace

void probe(MPI_Comm comm, const Options& o) {
  const Communicator narrow(comm);
  for (const std::string& schedule : o.schedules) {
    for (const Payload& payload : o.payloads) {
      stretto_options options = STRETTO_OPTIONS_INIT;
      options.schedule = schedule.c_str();
      options.payload = payload.kind;
      options.bound_kind = STRETTO_BOUND_ABSOLUTE;
      options.scope = STRETTO_SCOPE_CONTRIBUTION;
      options.bound = 1;
      const float one = 1;
      float sum = 0;
      const void* own = &one;
      require(stretto_allreduce_multi(&own, 1, &sum, 1, STRETTO_F32, STRETTO_SUM, narrow.get(), &options),
              fmt::format("{} {}", schedule, payload.name()));
    }
  }
}

Budget budget_of_all(MPI_Comm comm, const Options& o, const Images& im) {
  double lo = 0;
  double hi = 0;
  std::uint64_t fills = 0;
  require(stretto_value_range_below(im.type, im.data.data(), im.data.size() / stretto_type_size(im.type), kFillValue,
                                    &lo, &hi, &fills),
          "finding the range");
  double ends[2] = {-lo, hi};
  MPI_Allreduce(MPI_IN_PLACE, ends, 2, MPI_DOUBLE, MPI_MAX, comm);
  MPI_Allreduce(MPI_IN_PLACE, &fills, 1, MPI_UINT64_T, MPI_SUM, comm);
  lo = -ends[0];
  hi = ends[1];
  Budget out;
  out.range = std::max(0.0, hi - lo);
  if (fills > 0 && lo <= hi) out.fills_from = kFillValue;
  const Bound& bound = o.bound;
  if (!bound.relative) {
    out.eps = bound.value;
    return out;
  }
  if (lo > hi) {
    throw Problem(fmt::format(
        "bound {}: no value of the images ({}) is finite and below {}, so there is no range; abs:X needs none",
        bound.text, im.origin, kFillValue));
  }
  const double range = hi - lo;
  // A range may overflow a double while its fraction does not.
  out.eps = std::isfinite(range) ? bound.value * range : bound.value * hi - bound.value * lo;
  if (!(out.eps > 0) || !std::isfinite(out.eps)) {
    throw Problem(fmt::format("bound {} of a range of {} (of the images, {}: {} to {}) is {}, no bound to work with",
                              bound.text, range, im.origin, lo, hi, out.eps));
  }
  return out;
}

Result stack_all(MPI_Comm comm, const Options& o, const Images& im, const Budget& budget) {
  Result out;
  Setting& s = out.setting;
  MPI_Comm_size(comm, &s.ranks);
  s.hosts = hosts_of(comm);
  s.range = budget.range;
  s.eps = budget.eps;
  s.images = im.origin;
  s.bound = o.bound.text;
  s.mpi = timing::mpi_version();
  s.flavour = timing::mpi_flavour();
  s.count = im.shape.n;
  s.height = im.shape.h;
  s.width = im.shape.w;
  s.values = im.values;
  s.type = type_name(im.type);
  s.repeats = o.repeats;

  out.reference = reference_of_all(comm, im, budget.fills_from);
  describe(out.reference, &s);
  std::vector<std::byte> result(im.values * stretto_type_size(im.type));
  out.rows.push_back(with_mpi(comm, o, im, out.reference, result));
  const Communicator narrow(comm);
  for (const std::string& schedule : o.schedules) {
    for (const Payload& payload : o.payloads) {
      out.rows.push_back(with_stretto(comm, narrow.get(), o, im, out.reference, s.eps, schedule, payload, result));
      if (payload.in_code_space || !out.shown.in_code_space) {
        out.stack = result;
        out.shown = out.rows.back();
      }
    }
  }
  return out;
}

}  // namespace stretto::stacking
