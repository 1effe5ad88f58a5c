/* A program that knows nothing of stretto and calls wrongly, three times on each of its communicators: `fails every` on
 * one by each function that makes one, with a null buffer; `fails differently` with another root on rank 0. */
#include <mpi.h>
#include <string.h>

static void call(MPI_Comm comm, int differently) {
  if (comm == MPI_COMM_NULL) return;
  int rank = 0, ranks = 1, x = 1, y = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  for (int good = 0; good < 70 && ranks > 1; ++good) MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, comm);
  for (int wrong = 0; wrong < 3 && ranks > 1; ++wrong)
    if (differently)
      MPI_Bcast(&x, 1, MPI_INT, rank == 0, comm);
    else
      MPI_Allreduce(&x, NULL, 1, MPI_INT, MPI_SUM, comm);
  if (!differently) MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm world = MPI_COMM_WORLD, half, grid, comm, inter;
  int rank = 0, ranks = 1;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &ranks);
  MPI_Comm_dup(world, &comm);
  call(comm, strcmp(argv[1], "differently") == 0);
  if (strcmp(argv[1], "every") == 0) {
    MPI_Group all;
    MPI_Comm_group(world, &all);
    MPI_Comm_split(world, rank % 2, 0, &comm);
    call(comm, 0);
    MPI_Comm_create(world, all, &comm);
    call(comm, 0);
    MPI_Comm_create_group(world, all, 17, &comm);
    call(comm, 0);
    const int dims[] = {ranks, 1}, periodic[] = {0, 0}, remain[] = {1, 0};
    MPI_Cart_create(world, 2, dims, periodic, 0, &grid);
    MPI_Cart_sub(grid, remain, &comm);
    call(grid, 0);
    call(comm, 0);
    const int index[] = {1, 2}, edges[] = {1, 0};
    MPI_Graph_create(world, 2, index, edges, 0, &comm);
    call(comm, 0);
    const int last = (rank + ranks - 1) % ranks, next = (rank + 1) % ranks, degree = 1;
    MPI_Dist_graph_create(world, 1, &rank, &degree, &next, &degree, MPI_INFO_NULL, 0, &comm);
    call(comm, 0);
    MPI_Dist_graph_create_adjacent(world, 1, &last, &degree, 1, &next, &degree, MPI_INFO_NULL, 0, &comm);
    call(comm, 0);
    MPI_Comm_dup_with_info(world, MPI_INFO_NULL, &comm);
    call(comm, 0);
    MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
    call(comm, 0);
    MPI_Comm_split(world, rank % 2, 0, &half);
    MPI_Intercomm_create(half, 0, world, rank % 2 == 0, 17, &inter);
    MPI_Intercomm_merge(inter, rank % 2, &comm);
    call(comm, 0);
    MPI_Request request;
    MPI_Comm_idup(world, &comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    call(comm, 0);
    MPI_Comm_dup(world, &comm);
    MPI_Comm_set_name(comm, "ocean");
    call(comm, 0);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    MPI_Group_free(&all);
  }
  MPI_Finalize();
  return 0;
}
