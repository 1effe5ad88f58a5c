// Collectives on the host and on emulated devices through the C API, on ranks that are threads.
#pragma once

#include <functional>
#include <vector>

#include "../api/ranks.hpp"
#include "devices.hpp"
#include "stretto/stretto_cuda.h"
#include "stretto/stretto_cuda_collectives.h"

namespace stretto::tests {

using api_test::bounded;
using api_test::defaults;
using api_test::on_ranks;

enum class Way { host, on_stream, ordinary, started };

// Collectives with a form on a stream. NCCL lacks scatter, gather and prefix sums.
enum class What { allreduce, reduce, reduce_scatter, allgather, bcast, alltoall, scatter, gather, scan, exscan };
inline constexpr What kAll[] = {What::allreduce, What::reduce, What::reduce_scatter,
                                What::allgather, What::bcast,  What::alltoall};
inline constexpr What kRooted[] = {What::scatter, What::gather};
inline constexpr What kPrefixes[] = {What::scan, What::exscan};

inline std::size_t in_length(What w, std::size_t n, int p) {
  const bool all = w == What::reduce_scatter || w == What::alltoall || w == What::scatter;
  return all ? n * static_cast<std::size_t>(p) : n;
}
inline std::size_t out_length(What w, std::size_t n, int p) {
  const bool all = w == What::allgather || w == What::alltoall || w == What::gather;
  return all ? n * static_cast<std::size_t>(p) : n;
}

inline stretto_status call(What w, const float* in, float* out, std::size_t n, int root, stretto_comm comm,
                           const stretto_options* o) {
  switch (w) {
    case What::allreduce: return stretto_allreduce(in, out, n, STRETTO_F32, STRETTO_SUM, comm, o);
    case What::reduce: return stretto_reduce(in, out, n, STRETTO_F32, STRETTO_SUM, root, comm, o);
    case What::reduce_scatter: return stretto_reduce_scatter_block(in, out, n, STRETTO_F32, STRETTO_SUM, comm, o);
    case What::allgather: return stretto_allgather(in, out, n, STRETTO_F32, comm, o);
    case What::bcast: return stretto_bcast(out, n, STRETTO_F32, root, comm, o);
    case What::alltoall: return stretto_alltoall(in, out, n, STRETTO_F32, comm, o);
    case What::scatter: return stretto_scatter(in, out, n, STRETTO_F32, root, comm, o);
    case What::gather: return stretto_gather(in, out, n, STRETTO_F32, root, comm, o);
    case What::scan: return stretto_scan(in, out, n, STRETTO_F32, STRETTO_SUM, comm, o);
    case What::exscan: return stretto_exscan(in, out, n, STRETTO_F32, STRETTO_SUM, comm, o);
  }
  return STRETTO_INTERNAL;
}

inline stretto_status call_on_stream(What w, const float* in, float* out, std::size_t n, int root, stretto_comm comm,
                                     const stretto_options* o, void* stream) {
  switch (w) {
    case What::allreduce: return stretto_allreduce_on_stream(in, out, n, STRETTO_F32, STRETTO_SUM, comm, o, stream);
    case What::reduce: return stretto_reduce_on_stream(in, out, n, STRETTO_F32, STRETTO_SUM, root, comm, o, stream);
    case What::reduce_scatter:
      return stretto_reduce_scatter_block_on_stream(in, out, n, STRETTO_F32, STRETTO_SUM, comm, o, stream);
    case What::allgather: return stretto_allgather_on_stream(in, out, n, STRETTO_F32, comm, o, stream);
    case What::bcast: return stretto_bcast_on_stream(out, n, STRETTO_F32, root, comm, o, stream);
    case What::alltoall: return stretto_alltoall_on_stream(in, out, n, STRETTO_F32, comm, o, stream);
    case What::scatter: return stretto_scatter_on_stream(in, out, n, STRETTO_F32, root, comm, o, stream);
    case What::gather: return stretto_gather_on_stream(in, out, n, STRETTO_F32, root, comm, o, stream);
    case What::scan: return stretto_scan_on_stream(in, out, n, STRETTO_F32, STRETTO_SUM, comm, o, stream);
    case What::exscan: return stretto_exscan_on_stream(in, out, n, STRETTO_F32, STRETTO_SUM, comm, o, stream);
  }
  return STRETTO_INTERNAL;
}

using Results = std::vector<std::vector<float>>;

// Every rank's result; of a reduction, the root's.
inline Results results(What w, std::size_t n, int ranks, const stretto_options& o, const std::function<Way(int)>& way) {
  Results found(static_cast<std::size_t>(ranks));
  const int root = ranks / 2;
  on_ranks(ranks, [&](stretto_comm comm, int rank, int p) {
    auto in = api_test::wave(rank, in_length(w, n, p));
    std::vector<float> out(out_length(w, n, p));
    if (w == What::bcast && rank == root) out = in;
    auto& result = found[static_cast<std::size_t>(rank)];
    if (way(rank) == Way::host) {
      ASSERT_STRETTO_OK(call(w, in.data(), out.data(), n, root, comm, &o));
      result = out;
    } else {
      void* stream = nullptr;
      static_cast<void>(plugin().use_device(rank));
      static_cast<void>(plugin().create_stream(&stream));
      const DeviceVector<float> from(rank, in), to(rank, out);
      if (way(rank) == Way::on_stream) {
        from.write_late(in, stream);
        ASSERT_STRETTO_OK(call_on_stream(w, from.data(), to.data(), n, root, comm, &o, stream));
        result = to.read(stream);
        int done = 0;
        while (!done) ASSERT_STRETTO_OK(stretto_cuda_query(comm, &done));
      } else {
        ASSERT_STRETTO_OK(call(w, from.data(), to.data(), n, root, comm, &o));
        result = to.read(stream);
      }
      static_cast<void>(plugin().destroy_stream(stream));
    }
    if ((w == What::reduce || w == What::gather) && rank != root) result.clear();
  });
  return found;
}

inline stretto_options timed(stretto_options o) {
  o.timeout = 20;
  return o;
}

}  // namespace stretto::tests
