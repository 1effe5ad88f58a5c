#include "costs/native.hpp"

namespace stretto::measure {
namespace {

using schedule::Collective;

class Mpi final : public Provider {
 public:
  explicit Mpi(MPI_Comm comm) : comm_(comm) {}

  void run(Collective collective, const float* in, float* out, std::size_t whole, std::size_t block,
           int root) override {
    const int n = static_cast<int>(whole), b = static_cast<int>(block);
    switch (collective) {
      case Collective::allreduce:
      case Collective::allreduce_multi: MPI_Allreduce(in, out, n, MPI_FLOAT, MPI_SUM, comm_); return;
      case Collective::bcast: MPI_Bcast(const_cast<float*>(in), n, MPI_FLOAT, root, comm_); return;
      case Collective::reduce: MPI_Reduce(in, out, n, MPI_FLOAT, MPI_SUM, root, comm_); return;
      case Collective::allgather:
      case Collective::allgatherv: MPI_Allgather(in, b, MPI_FLOAT, out, b, MPI_FLOAT, comm_); return;
      case Collective::reduce_scatter:
      case Collective::reduce_scatter_block: MPI_Reduce_scatter_block(in, out, b, MPI_FLOAT, MPI_SUM, comm_); return;
      case Collective::gather:
      case Collective::gatherv: MPI_Gather(in, b, MPI_FLOAT, out, b, MPI_FLOAT, root, comm_); return;
      case Collective::scatter:
      case Collective::scatterv: MPI_Scatter(in, b, MPI_FLOAT, out, b, MPI_FLOAT, root, comm_); return;
      case Collective::alltoall:
      case Collective::alltoallv: MPI_Alltoall(in, b, MPI_FLOAT, out, b, MPI_FLOAT, comm_); return;
      case Collective::scan: MPI_Scan(in, out, n, MPI_FLOAT, MPI_SUM, comm_); return;
      case Collective::exscan: MPI_Exscan(in, out, n, MPI_FLOAT, MPI_SUM, comm_); return;
      case Collective::barrier:
      case Collective::agreement: MPI_Barrier(comm_); return;
    }
  }

 private:
  MPI_Comm comm_;
};

}  // namespace

std::unique_ptr<Provider> make_mpi_provider(MPI_Comm comm) { return std::make_unique<Mpi>(comm); }

}  // namespace stretto::measure
