// Collectives in a node's memory, on private buffers, as usual in programs.
#include "node/collectives/collectives.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "costs/collectives.hpp"

namespace stretto::measure {
namespace {

using schedule::Collective;

class Node final : public Provider {
 public:
  explicit Node(const World& world, const node::Options& options = {}) {
    must(node::Collectives::create(world.exchange(), options, &node_));
  }
  bool kernel_may_copy() const { return node_->copies_differ(node::Options{}.direct); }

  void run(Collective collective, const float* in, float* out, std::size_t whole, std::size_t block,
           int root) override {
    constexpr auto f32 = payload::Type::f32;
    const std::size_t bytes = block * sizeof(float);
    const auto call = [&]() -> Status {
      switch (collective) {
        case Collective::allreduce:
        case Collective::allreduce_multi: return node_->allreduce(in, out, whole, f32, {});
        case Collective::bcast: return node_->bcast(const_cast<float*>(in), whole * sizeof(float), root);
        case Collective::reduce: return node_->reduce(in, out, whole, f32, {}, root);
        case Collective::allgather:
        case Collective::allgatherv: return node_->allgather(in, out, bytes);
        case Collective::reduce_scatter:
        case Collective::reduce_scatter_block: return node_->reduce_scatter(in, out, block, f32, {});
        case Collective::gather:
        case Collective::gatherv: return node_->gather(in, out, bytes, root);
        case Collective::scatter:
        case Collective::scatterv: return node_->scatter(in, out, bytes, root);
        case Collective::alltoall:
        case Collective::alltoallv: return node_->alltoall(in, out, bytes);
        case Collective::scan:
        case Collective::exscan: break;
        case Collective::barrier:
        case Collective::agreement: return node_->barrier();
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
  Node provider(job.ranks.world);
  collectives(job, Part::node, provider);
}

void switches(const Job& job) {
  if (job.ranks.hosts > 1) {
    job.report.begin(Part::switches, 0);
    return;
  }
  static constexpr std::size_t kKiB = 1024, kNever = ~std::size_t{0};
  const auto with = [&](auto change) {
    node::Options o;
    change(o);
    return Node(job.ranks.world, o);
  };
  Node eager = with([](node::Options& o) { o.eager = o.eager_reduce = kNever; });
  Node pipelined = with([](node::Options& o) { o.eager = o.eager_reduce = 0; });
  Node staged = with([](node::Options& o) { o.kernel = kNever; });
  Node copied = with([](node::Options& o) { o.kernel = 0; });
  const auto ranks = static_cast<std::size_t>(job.ranks.size);
  std::vector<Switch> all;
  if (job.ranks.size <= node::Collectives::kFlat)  // on more ranks both are equal
    all = {{"eager", Collective::allreduce, &eager, &pipelined, 2 * kKiB, 128 * kKiB},
           {"eager_reduce", Collective::reduce, &eager, &pipelined, 2 * kKiB, 128 * kKiB}};
  if (copied.kernel_may_copy())
    all.push_back({"kernel", Collective::allgather, &staged, &copied, 16 * kKiB * ranks,
                   std::min(16 * kKiB * kKiB, 1024 * kKiB * ranks), ranks});
  compare(job, Part::switches, all);
}

}  // namespace stretto::measure
