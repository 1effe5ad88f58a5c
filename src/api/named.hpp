// The named functions: a row for each collective of buffers, FORM(name, record, parameters...). The files that define
// its four forms include the public headers: a definition with other types does not compile, nor, by GCC, one without a
// declaration.
#pragma once

#include "call/record.hpp"

#pragma GCC diagnostic error "-Wmissing-declarations"

#define STRETTO_NAMED_COLLECTIVES(FORM)                                                                                \
  FORM(allreduce, record_of(STRETTO_ALLREDUCE, sendbuf, recvbuf, count, type, op), const void* sendbuf, void* recvbuf, \
       size_t count, stretto_type type, stretto_op op)                                                                 \
  FORM(allreduce_multi, multi(contributions, k, recvbuf, count, type, op), const void* const* contributions, int k,    \
       void* recvbuf, size_t count, stretto_type type, stretto_op op)                                                  \
  FORM(reduce, record_of(STRETTO_REDUCE, sendbuf, recvbuf, count, type, op, root), const void* sendbuf, void* recvbuf, \
       size_t count, stretto_type type, stretto_op op, int root)                                                       \
  FORM(reduce_scatter_block, record_of(STRETTO_REDUCE_SCATTER_BLOCK, sendbuf, recvbuf, count, type, op),               \
       const void* sendbuf, void* recvbuf, size_t count, stretto_type type, stretto_op op)                             \
  FORM(reduce_scatter,                                                                                                 \
       with_received(record_of(STRETTO_REDUCE_SCATTER, sendbuf, recvbuf, 0, type, op), counts, nullptr),               \
       const void* sendbuf, void* recvbuf, const size_t* counts, stretto_type type, stretto_op op)                     \
  FORM(scan, record_of(STRETTO_SCAN, sendbuf, recvbuf, count, type, op), const void* sendbuf, void* recvbuf,           \
       size_t count, stretto_type type, stretto_op op)                                                                 \
  FORM(exscan, record_of(STRETTO_EXSCAN, sendbuf, recvbuf, count, type, op), const void* sendbuf, void* recvbuf,       \
       size_t count, stretto_type type, stretto_op op)                                                                 \
  FORM(allgather, moving(STRETTO_ALLGATHER, sendbuf, recvbuf, count, type), const void* sendbuf, void* recvbuf,        \
       size_t count, stretto_type type)                                                                                \
  FORM(allgatherv, with_received(moving(STRETTO_ALLGATHERV, sendbuf, recvbuf, 0, type), counts, displs),               \
       const void* sendbuf, void* recvbuf, const size_t* counts, const size_t* displs, stretto_type type)              \
  FORM(bcast, moving(STRETTO_BCAST, nullptr, buffer, count, type, root), void* buffer, size_t count,                   \
       stretto_type type, int root)                                                                                    \
  FORM(scatter, moving(STRETTO_SCATTER, sendbuf, recvbuf, count, type, root), const void* sendbuf, void* recvbuf,      \
       size_t count, stretto_type type, int root)                                                                      \
  FORM(scatterv, with_sent(moving(STRETTO_SCATTERV, sendbuf, recvbuf, recvcount, type, root), counts, displs),         \
       const void* sendbuf, const size_t* counts, const size_t* displs, void* recvbuf, size_t recvcount,               \
       stretto_type type, int root)                                                                                    \
  FORM(gather, moving(STRETTO_GATHER, sendbuf, recvbuf, count, type, root), const void* sendbuf, void* recvbuf,        \
       size_t count, stretto_type type, int root)                                                                      \
  FORM(gatherv, with_received(moving(STRETTO_GATHERV, sendbuf, recvbuf, sendcount, type, root), counts, displs),       \
       const void* sendbuf, size_t sendcount, void* recvbuf, const size_t* counts, const size_t* displs,               \
       stretto_type type, int root)                                                                                    \
  FORM(alltoall, moving(STRETTO_ALLTOALL, sendbuf, recvbuf, count, type), const void* sendbuf, void* recvbuf,          \
       size_t count, stretto_type type)                                                                                \
  FORM(alltoallv,                                                                                                      \
       with_received(with_sent(moving(STRETTO_ALLTOALLV, sendbuf, recvbuf, 0, type), sendcounts, sdispls), recvcounts, \
                     rdispls),                                                                                         \
       const void* sendbuf, const size_t* sendcounts, const size_t* sdispls, void* recvbuf, const size_t* recvcounts,  \
       const size_t* rdispls, stretto_type type)
