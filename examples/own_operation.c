// An operation of the caller's own: the value nearest to 0; of equal ones that of the lowest rank.
#include <math.h>
#include <stdio.h>
#include <stretto/stretto_mpi.h>

static void smaller(const void* in, void* inout, size_t count, stretto_type type, void* context) {
  const float* a = in; /* of lower ranks */
  float* b = inout;
  for (size_t i = 0; i < count; ++i)
    if (fabsf(a[i]) <= fabsf(b[i])) b[i] = a[i];
  (void)type, (void)context;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  stretto_comm comm;
  if (stretto_comm_create(MPI_COMM_WORLD, &comm) != STRETTO_OK) return 1;
  float mine = (float)(stretto_comm_rank(comm) - 1), least = 5;

  stretto_options options = STRETTO_OPTIONS_INIT;
  options.user_function = smaller;
  options.user_commutes = 0; /* 1: in any order of the ranks */
  stretto_status status = stretto_allreduce(&mine, &least, 1, STRETTO_F32, STRETTO_USER, comm, &options);
  if (status != STRETTO_OK)
    fprintf(stderr, "%s\n", stretto_message());
  else if (stretto_comm_rank(comm) == 0)
    printf("nearest to 0 of all ranks' values: %g\n", least);
  int wrong = status != STRETTO_OK || least != 0; /* rank 1 has the value nearest to 0 */

  stretto_comm_free(comm);
  MPI_Finalize();
  return wrong;
}
