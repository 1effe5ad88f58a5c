// A thin C++ face of stretto.h, stretto_nonblocking.h and stretto_stream.h, whose contracts hold. It adds owners for
// handles, types read from pointers, and failures as exceptions. C++17 takes pointers and lengths; C++20 std::span as
// well.
#ifndef STRETTO_STRETTO_HPP
#define STRETTO_STRETTO_HPP

#if __cplusplus < 201703L
#error "stretto.hpp needs C++17 (-std=c++17); stretto.h serves C99 and any C++"
#endif

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#if __cplusplus >= 202002L
#include <span>
#endif

#include "stretto.h"
#include "stretto_nonblocking.h"
#include "stretto_stream.h"

namespace stretto {

// A status other than STRETTO_OK, with the message that came with it.
class error : public std::runtime_error {
 public:
  explicit error(stretto_status s)
      : std::runtime_error(std::string(stretto_status_name(s)) + ": " + stretto_message()), status_(s) {}
  stretto_status status() const noexcept { return status_; }

 private:
  stretto_status status_;
};

inline void check(stretto_status s) {
  if (s != STRETTO_OK) throw error(s);
}

// The stretto_type of a C++ arithmetic type. f16 and bf16 have none: call stretto.h for them.
template <class T>
constexpr stretto_type type_of() noexcept {
  static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, long double>, "no stretto_type for this type");
  if constexpr (std::is_floating_point_v<T>)
    return sizeof(T) == 4 ? STRETTO_F32 : STRETTO_F64;
  else if constexpr (sizeof(T) == 1)
    return std::is_signed_v<T> ? STRETTO_I8 : STRETTO_U8;
  else if constexpr (sizeof(T) == 2)
    return std::is_signed_v<T> ? STRETTO_I16 : STRETTO_U16;
  else if constexpr (sizeof(T) == 4)
    return std::is_signed_v<T> ? STRETTO_I32 : STRETTO_U32;
  else
    return std::is_signed_v<T> ? STRETTO_I64 : STRETTO_U64;
}

inline stretto_options options() noexcept {
  const stretto_options o = STRETTO_OPTIONS_INIT;
  return o;
}

// Options with a bound, e.g. with_bound(STRETTO_BOUND_RELATIVE, 1e-4): of the result, unless the scope says otherwise.
inline stretto_options with_bound(stretto_bound kind, double bound,
                                  stretto_scope scope = STRETTO_SCOPE_RESULT) noexcept {
  stretto_options o = options();
  o.bound_kind = kind;
  o.bound = bound;
  o.scope = scope;
  return o;
}

// A group of threads as ranks. Outlives the communicators made from it.
class thread_group {
 public:
  explicit thread_group(int ranks) { check(stretto_thread_group_create(ranks, &group_)); }
  thread_group(const thread_group&) = delete;
  thread_group& operator=(const thread_group&) = delete;
  ~thread_group() { stretto_thread_group_free(group_); }
  stretto_thread_group get() const noexcept { return group_; }

 private:
  stretto_thread_group group_ = nullptr;
};

// A collective in flight. Waits when destroyed before its end, and drops its status then: call wait().
class request {
 public:
  explicit request(stretto_request r) noexcept : request_(r) {}
  request(request&& o) noexcept : request_(std::exchange(o.request_, nullptr)) {}
  request& operator=(request&& o) noexcept {
    std::swap(request_, o.request_);
    return *this;
  }
  ~request() { stretto_request_free(&request_); }

  bool test() {
    int done = 0;
    check(stretto_test(request_, &done));
    return done != 0;
  }
  void wait() { check(stretto_wait(request_)); }

 private:
  stretto_request request_ = nullptr;
};

// A communicator. Owns what stretto_comm_create() (stretto_mpi.h) or stretto_comm_create_threads() gave.
class communicator {
 public:
  explicit communicator(stretto_comm comm) noexcept : comm_(comm) {}
  communicator(const thread_group& group, int rank) { check(stretto_comm_create_threads(group.get(), rank, &comm_)); }
  communicator(communicator&& o) noexcept : comm_(std::exchange(o.comm_, nullptr)) {}
  communicator& operator=(communicator&& o) noexcept {
    std::swap(comm_, o.comm_);
    return *this;
  }
  ~communicator() { stretto_comm_free(comm_); }

  stretto_comm get() const noexcept { return comm_; }
  int rank() const noexcept { return stretto_comm_rank(comm_); }
  int size() const noexcept { return stretto_comm_size(comm_); }

  // recv[i] = op over all ranks of send[i], i < count.
  template <class T>
  void allreduce(const T* send, T* recv, std::size_t count, stretto_op op, const stretto_options& o = options()) {
    check(stretto_allreduce(send, recv, count, type_of<T>(), op, comm_, &o));
  }
  // In place.
  template <class T>
  void allreduce(T* values, std::size_t count, stretto_op op, const stretto_options& o = options()) {
    check(stretto_allreduce(STRETTO_IN_PLACE, values, count, type_of<T>(), op, comm_, &o));
  }
  template <class T>
  request iallreduce(const T* send, T* recv, std::size_t count, stretto_op op, const stretto_options& o = options()) {
    stretto_request r = nullptr;
    check(stretto_iallreduce(send, recv, count, type_of<T>(), op, comm_, &o, &r));
    return request(r);
  }
  // recv[i] = op over all contributions of all ranks, each of `count` values.
  template <class T>
  void allreduce(const T* const* contributions, std::size_t contributed, T* recv, std::size_t count, stretto_op op,
                 const stretto_options& o = options()) {
    const std::vector<const void*> pointers(contributions, contributions + contributed);
    check(stretto_allreduce_multi(pointers.data(), static_cast<int>(pointers.size()), recv, count, type_of<T>(), op,
                                  comm_, &o));
  }
  // recv[i] on rank r = op over ranks 0 to r of send[i], i < count. exscan: over ranks 0 to r - 1; rank 0's recv is not
  // written.
  template <class T>
  void scan(const T* send, T* recv, std::size_t count, stretto_op op, const stretto_options& o = options()) {
    check(stretto_scan(send, recv, count, type_of<T>(), op, comm_, &o));
  }
  template <class T>
  void exscan(const T* send, T* recv, std::size_t count, stretto_op op, const stretto_options& o = options()) {
    check(stretto_exscan(send, recv, count, type_of<T>(), op, comm_, &o));
  }
  template <class T>
  void bcast(T* values, std::size_t count, int root, const stretto_options& o = options()) {
    check(stretto_bcast(values, count, type_of<T>(), root, comm_, &o));
  }
  // recv: size() blocks of `count` values.
  template <class T>
  void allgather(const T* send, T* recv, std::size_t count, const stretto_options& o = options()) {
    check(stretto_allgather(send, recv, count, type_of<T>(), comm_, &o));
  }
  // send_counts[d] values at send_displs[d] go to rank d; recv_counts[s] values of rank s come to recv_displs[s]. All
  // have size() entries; where displacements are null, blocks lie end to end.
  template <class T>
  void alltoallv(const T* send, const std::size_t* send_counts, const std::size_t* send_displs, T* recv,
                 const std::size_t* recv_counts, const std::size_t* recv_displs, const stretto_options& o = options()) {
    check(stretto_alltoallv(send, send_counts, send_displs, recv, recv_counts, recv_displs, type_of<T>(), comm_, &o));
  }
  void barrier(const stretto_options& o = options()) { check(stretto_barrier(comm_, &o)); }

#if defined(__cpp_lib_span)
  template <class T>
  void allreduce(std::span<T> values, stretto_op op, const stretto_options& o = options()) {
    allreduce(values.data(), values.size(), op, o);
  }
  template <class T>
  void allreduce(std::span<const T* const> contributions, T* recv, std::size_t count, stretto_op op,
                 const stretto_options& o = options()) {
    allreduce(contributions.data(), contributions.size(), recv, count, op, o);
  }
  template <class T>
  void bcast(std::span<T> values, int root, const stretto_options& o = options()) {
    bcast(values.data(), values.size(), root, o);
  }
  // Counts have size() entries, and so have displacements unless they are empty.
  template <class T>
  void alltoallv(const T* send, std::span<const std::size_t> send_counts, std::span<const std::size_t> send_displs,
                 T* recv, std::span<const std::size_t> recv_counts, std::span<const std::size_t> recv_displs,
                 const stretto_options& o = options()) {
    const auto p = static_cast<std::size_t>(size());
    const auto places = [p](std::span<const std::size_t> displs) { return displs.empty() || displs.size() == p; };
    if (send_counts.size() != p || recv_counts.size() != p || !places(send_displs) || !places(recv_displs))
      throw std::invalid_argument("alltoallv takes an entry for each rank");
    alltoallv(send, send_counts.data(), send_displs.empty() ? nullptr : send_displs.data(), recv, recv_counts.data(),
              recv_displs.empty() ? nullptr : recv_displs.data(), o);
  }
#endif

 private:
  stretto_comm comm_ = nullptr;
};

// A stream of `values` within eps of each.
template <class T>
std::vector<std::byte> compress(const T* values, std::size_t count, double eps, unsigned flags = 0) {
  std::vector<std::byte> out(stretto_compress_bound(type_of<T>(), count));
  std::size_t written = 0;
  check(stretto_compress(type_of<T>(), values, count, eps, out.data(), out.size(), &written, flags));
  out.resize(written);
  return out;
}

inline stretto_stream_info inspect(const std::byte* stream, std::size_t bytes) {
  stretto_stream_info info;
  check(stretto_inspect(stream, bytes, &info));
  return info;
}

// The values of a stream of T; the mean when it is a sum and `divisor` its number of contributions.
template <class T>
std::vector<T> decompress(const std::byte* stream, std::size_t bytes, std::uint32_t divisor = 1) {
  const stretto_stream_info info = inspect(stream, bytes);
  if (info.type != type_of<T>()) throw std::invalid_argument("the stream holds another type");
  std::vector<T> values(info.count);
  check(stretto_decompress(stream, bytes, values.data(), values.size(), divisor));
  return values;
}

#if defined(__cpp_lib_span)
template <class T>
std::vector<std::byte> compress(std::span<const T> values, double eps, unsigned flags = 0) {
  return compress(values.data(), values.size(), eps, flags);
}
inline stretto_stream_info inspect(std::span<const std::byte> stream) { return inspect(stream.data(), stream.size()); }
template <class T>
std::vector<T> decompress(std::span<const std::byte> stream, std::uint32_t divisor = 1) {
  return decompress<T>(stream.data(), stream.size(), divisor);
}
#endif

}  // namespace stretto

#endif
