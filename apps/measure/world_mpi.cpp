#include <mpi.h>

#include <chrono>
#include <thread>

#include "costs/native.hpp"
#include "stretto/stretto_mpi.h"
#include "world.hpp"

namespace stretto::measure {
namespace {

stretto_comm make_comm() {
  stretto_comm comm = nullptr;
  must(stretto_comm_create(MPI_COMM_WORLD, &comm));
  return comm;
}

class MpiWorld final : public World {
 public:
  MpiWorld() : World(make_comm()) { MPI_Comm_dup(MPI_COMM_WORLD, &messages_); }
  ~MpiWorld() override { MPI_Comm_free(&messages_); }
  MpiWorld(const MpiWorld&) = delete;
  MpiWorld& operator=(const MpiWorld&) = delete;

  model::Carrier carrier() const noexcept override { return model::Carrier::mpi; }
  void barrier() const override { MPI_Barrier(messages_); }

  void send(int peer, int tag, const void* data, std::size_t bytes) const override {
    MPI_Send(data, static_cast<int>(bytes), MPI_BYTE, peer, tag, messages_);
  }
  void receive(int peer, int tag, void* data, std::size_t bytes) const override {
    MPI_Recv(data, static_cast<int>(bytes), MPI_BYTE, peer, tag, messages_, MPI_STATUS_IGNORE);
  }
  void shift(int to, const void* out, int from, void* in, std::size_t bytes, int tag) const override {
    const int n = static_cast<int>(bytes);
    MPI_Sendrecv(out, n, MPI_BYTE, to, tag, in, n, MPI_BYTE, from, tag, messages_, MPI_STATUS_IGNORE);
  }
  void await(int peer, int tag, bool asleep) const override {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(nullptr, 0, MPI_BYTE, peer, tag, messages_, &request);
    for (int done = 0; done == 0;) {
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      if (done == 0) std::this_thread::sleep_for(std::chrono::milliseconds(asleep ? 1 : 0));
    }
  }

  std::unique_ptr<Provider> natives() const override { return make_mpi_provider(messages_); }

 private:
  MPI_Comm messages_ = MPI_COMM_NULL;
};

}  // namespace

std::unique_ptr<World> make_mpi_world() { return std::make_unique<MpiWorld>(); }

}  // namespace stretto::measure
