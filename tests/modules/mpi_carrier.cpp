// The MPI carrier, on as many ranks as it is launched on. Exit status 1 if anything fails.
#include "modules/mpi/carrier.hpp"

#include "carrier_cases.hpp"

using namespace carrier_cases;

namespace {

// Open MPI has the number of tags on no communicator that was split off.
void tags_of_a_part() {
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &part);
  {
    std::unique_ptr<Carrier> world, c;
    expect(stretto::modules::make_mpi_carrier(MPI_COMM_WORLD, {}, &world) == Status::ok, "no carrier");
    expect(stretto::modules::make_mpi_carrier(part, {}, &c) == Status::ok, "no carrier of a part");
    expect(c->tags() == world->tags(), "a part has fewer tags than the world", c->tags());
  }
  MPI_Comm_free(&part);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  for (const std::size_t chunk : {std::size_t{64}, std::size_t{100000}}) {
    std::unique_ptr<Carrier> c;
    expect(stretto::modules::make_mpi_carrier(MPI_COMM_WORLD, {chunk}, &c) == Status::ok, "no carrier");
    around(*c, chunk);
    exact_fit(*c, chunk);
    if (c->size() > 1) too_long(*c, 8, 4);  // to itself, Open MPI 5 cuts a message off and does not say so
    withdraw(*c);
    alarms(*c);
    expect(c->start_send(c->size(), 0, nullptr, 0, 0) == Status::invalid_argument, "a peer outside is not refused");
  }
  {
    std::unique_ptr<Carrier> c;
    expect(stretto::modules::make_mpi_carrier(MPI_COMM_WORLD, {}, &c) == Status::ok, "no carrier");
    give_up(*c);
  }
  {
    std::unique_ptr<Carrier> c;
    expect(stretto::modules::make_mpi_carrier(MPI_COMM_WORLD, {}, &c) == Status::ok, "no carrier");
    sleep_in_waits(*c);
  }
  tags_of_a_part();
  std::unique_ptr<Carrier> none;
  expect(stretto::modules::make_mpi_carrier(MPI_COMM_WORLD, {0}, &none) == Status::invalid_argument,
         "a chunk of 0 is not refused");
  int any = 0;
  MPI_Allreduce(&failures, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return any > 0;
}
