// Collectives of ranks that share a node's memory, between buffers as programs have them: private ones.
#include "node/collectives.hpp"

#include <memory>
#include <stdexcept>

#include "carrier/mpi.hpp"
#include "collectives.hpp"

namespace stretto::measure {
namespace {

using schedule::Collective;

void must(Status status) {
  if (status != Status::ok) throw std::runtime_error(stretto::message());
}

class Node final : public Provider {
 public:
  explicit Node(MPI_Comm comm) {
    std::unique_ptr<carrier::Carrier> carrier;
    must(carrier::make_mpi_carrier(comm, {}, &carrier));
    node::CarrierExchange exchange(*carrier);
    must(node::Collectives::create(exchange, {}, &node_));
  }

  void run(Collective collective, const float* in, float* out, std::size_t whole, std::size_t block,
           int root) override {
    constexpr auto f32 = payload::Type::f32;
    const std::size_t bytes = block * sizeof(float);
    const auto call = [&]() -> Status {
      switch (collective) {
        case Collective::allreduce: return node_->allreduce(in, out, whole, f32, {});
        case Collective::broadcast: return node_->bcast(const_cast<float*>(in), whole * sizeof(float), root);
        case Collective::reduce: return node_->reduce(in, out, whole, f32, {}, root);
        case Collective::allgather: return node_->allgather(in, out, bytes);
        case Collective::reduce_scatter: return node_->reduce_scatter(in, out, block, f32, {});
        case Collective::gather: return node_->gather(in, out, bytes, root);
        case Collective::scatter: return node_->scatter(in, out, bytes, root);
        case Collective::alltoall: return node_->alltoall(in, out, bytes);
        case Collective::barrier: return node_->barrier();
      }
      return Status::unsupported;
    };
    must(call());
  }

 private:
  std::unique_ptr<node::Collectives> node_;
};

}  // namespace

void node(const Job& job) {
  if (job.ranks.hosts > 1) {
    job.report.begin(Part::node, 0);
    return;
  }
  Node provider(job.ranks.comm);
  collectives(job, Part::node, provider);
}

}  // namespace stretto::measure
