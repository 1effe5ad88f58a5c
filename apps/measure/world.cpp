#include "world.hpp"

#include "api/communicator.hpp"

namespace stretto::measure {

World::~World() { static_cast<void>(stretto_comm_free(comm_)); }

std::string World::library() const { return comm_->transport->name(); }

node::Exchange& World::exchange() const { return *comm_->transport; }

void World::barrier() const {
  const char here = 0;
  std::vector<char> all(static_cast<std::size_t>(size()));
  must(exchange().allgather(&here, 1, all.data()));
}

}  // namespace stretto::measure
