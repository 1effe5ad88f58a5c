// Error feedback in C: what a step's bound leaves out of this rank's contribution is added to the next step's.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <stretto/stretto_mpi.h>
#include <stretto/stretto_stream.h>
#include <string.h>

enum { n = 100000, steps = 10 };
static float given[n], sum[n], residual[n];

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  stretto_comm comm;
  if (stretto_comm_create(MPI_COMM_WORLD, &comm) != STRETTO_OK) return 1;
  size_t capacity = stretto_compress_bound(STRETTO_F32, n), bytes = 0;
  void* stream = malloc(capacity);

  stretto_report report = STRETTO_REPORT_INIT;
  stretto_options options = STRETTO_OPTIONS_INIT;
  options.bound_kind = STRETTO_BOUND_ABSOLUTE;
  options.bound = 0.3;
  options.payload = STRETTO_PAYLOAD_FUSED;
  options.report = &report;
  double total = 0; /* of one element, over all steps */
  stretto_status status = STRETTO_OK;
  for (int step = 0; step < steps && status == STRETTO_OK; ++step) {
    for (int i = 0; i < n; ++i) given[i] = (float)(i % 1000) / 1000 + residual[i];
    status = stretto_allreduce(given, sum, n, STRETTO_F32, STRETTO_SUM, comm, &options);
    total += sum[777];
    if (status == STRETTO_OK && report.eps == 0) memset(residual, 0, sizeof residual);
    if (status != STRETTO_OK || report.eps == 0) continue;
    status = stretto_compress(STRETTO_F32, given, n, report.eps, stream, capacity, &bytes, 0);
    if (status == STRETTO_OK) status = stretto_decompress(stream, bytes, residual, n, 1);
    for (int i = 0; i < n; ++i) residual[i] = given[i] - residual[i];
  }
  double error = fabs(total - steps * stretto_comm_size(comm) * 0.777);
  if (status != STRETTO_OK)
    fprintf(stderr, "%s\n", stretto_message());
  else if (stretto_comm_rank(comm) == 0)
    printf("error of one step at most %g, of %d steps %g\n", report.promised_error, steps, error);

  free(stream);
  stretto_comm_free(comm);
  MPI_Finalize();
  return status != STRETTO_OK || error > 1.01 * report.promised_error;
}
