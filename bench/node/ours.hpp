// stretto's collectives on floats, for bench_node.
#pragma once

#include <cstddef>
#include <functional>
#include <stdexcept>

#include "node/collectives/collectives.hpp"
#include "stretto/stretto_mpi.h"

namespace stretto::bench {

// The collectives of src/node, directly or through the C API.
class Ours {
 public:
  virtual ~Ours() = default;
  virtual void barrier() = 0;
  virtual void bcast(float* data, std::size_t n) = 0;
  virtual void reduce(const float* in, float* out, std::size_t n) = 0;
  virtual void allreduce(const float* in, float* out, std::size_t n) = 0;
  virtual void allgather(const float* in, float* out, std::size_t block) = 0;  // bytes
  virtual void alltoall(const float* in, float* out, std::size_t block) = 0;
};

class Direct final : public Ours {
 public:
  explicit Direct(node::Collectives& c) : c_(c) {}
  void barrier() override { check(c_.barrier()); }
  void bcast(float* data, std::size_t n) override { check(c_.bcast(data, n * sizeof(float), 0)); }
  void reduce(const float* in, float* out, std::size_t n) override {
    check(c_.reduce(in, out, n, payload::Type::f32, {payload::Op::sum}, 0));
  }
  void allreduce(const float* in, float* out, std::size_t n) override {
    check(c_.allreduce(in, out, n, payload::Type::f32, {payload::Op::sum}));
  }
  void allgather(const float* in, float* out, std::size_t block) override { check(c_.allgather(in, out, block)); }
  void alltoall(const float* in, float* out, std::size_t block) override { check(c_.alltoall(in, out, block)); }

 private:
  static void check(Status s) {
    if (s != Status::ok) throw std::runtime_error(message());
  }
  node::Collectives& c_;
};

class Api final : public Ours {
 public:
  explicit Api(bool agree) {
    begin();
    o_.check = agree ? 1 : 0;
  }
  ~Api() override { static_cast<void>(stretto_comm_free(comm_)); }
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;
  void barrier() override { check(stretto_barrier(comm_, &o_)); }
  void bcast(float* data, std::size_t n) override { check(stretto_bcast(data, n, STRETTO_F32, 0, comm_, &o_)); }
  void reduce(const float* in, float* out, std::size_t n) override {
    check(stretto_reduce(in, out, n, STRETTO_F32, STRETTO_SUM, 0, comm_, &o_));
  }
  void allreduce(const float* in, float* out, std::size_t n) override {
    check(stretto_allreduce(in, out, n, STRETTO_F32, STRETTO_SUM, comm_, &o_));
  }
  void allgather(const float* in, float* out, std::size_t block) override {
    check(stretto_allgather(in, out, block, STRETTO_U8, comm_, &o_));
  }
  void alltoall(const float* in, float* out, std::size_t block) override {
    check(stretto_alltoall(in, out, block, STRETTO_U8, comm_, &o_));
  }

 private:
  static void check(stretto_status s) {
    if (s != STRETTO_OK) throw std::runtime_error(stretto_message());
  }
  void begin() { check(stretto_comm_create(MPI_COMM_WORLD, &comm_)); }

  stretto_comm comm_ = nullptr;
  stretto_options o_ = STRETTO_OPTIONS_INIT;
};

}  // namespace stretto::bench
