// The ranks of a run: their communicator, and the blocking messages to measure, either an MPI's own (world_mpi.cpp) or
// UCX's as stretto sends them (world_ucx.cpp).
#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>

#include "base/status.hpp"
#include "model/profile/profile.hpp"
#include "node/group/exchange.hpp"
#include "stretto/stretto.h"

namespace stretto::measure {

class Provider;

inline void must(Status status) {
  if (status != Status::ok) throw std::runtime_error(std::string(message()));
}
inline void must(stretto_status status) {
  if (status != STRETTO_OK) throw std::runtime_error(stretto_message());
}

class World {
 public:
  // Takes ownership of the communicator.
  explicit World(stretto_comm comm) noexcept : comm_(comm) {}
  virtual ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  int rank() const { return stretto_comm_rank(comm_); }
  int size() const { return stretto_comm_size(comm_); }
  stretto_comm comm() const noexcept { return comm_; }
  virtual model::Carrier carrier() const noexcept = 0;
  std::string library() const;       // with its version, in the form of profiles
  node::Exchange& exchange() const;  // collective, over all ranks
  virtual void barrier() const;      // collective, over all ranks

  // Messages of one tag between two ranks match in order. These functions throw on failure.
  virtual void send(int peer, int tag, const void* data, std::size_t bytes) const = 0;
  virtual void receive(int peer, int tag, void* data, std::size_t bytes) const = 0;
  // Sends and receives at once, equally many bytes.
  virtual void shift(int to, const void* out, int from, void* in, std::size_t bytes, int tag) const = 0;
  // Receives an empty message. `asleep`: leaves the core to others meanwhile.
  virtual void await(int peer, int tag, bool asleep) const = 0;

  // The carrier's own collectives; null if it has none.
  virtual std::unique_ptr<Provider> natives() const = 0;

 private:
  stretto_comm comm_;
};

// Collective over MPI_COMM_WORLD, and freed before MPI_Finalize.
std::unique_ptr<World> make_mpi_world();

// Collective over the ranks in the environment (stretto_store.h).
std::unique_ptr<World> make_ucx_world();

}  // namespace stretto::measure
