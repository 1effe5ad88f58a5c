/* The headers are C99, stand alone, and stretto.h brings no requests or streams: compiled with -std=c99 -pedantic
 * -Werror, and linked. */
#include "stretto/stretto_report.h"
#if defined(STRETTO_STRETTO_OPTIONS_H) || defined(STRETTO_STRETTO_H)
#error "stretto_report.h brings more than types along"
#endif
#include "stretto/stretto_options.h"
#if defined(STRETTO_STRETTO_H)
#error "stretto_options.h brings functions along"
#endif
#include "stretto/stretto.h"
#if defined(STRETTO_STRETTO_NONBLOCKING_H) || defined(STRETTO_STRETTO_STREAM_H)
#error "stretto.h brings requests or streams along"
#endif
#include "stretto/stretto_call.h"
#include "stretto/stretto_cuda.h"
#include "stretto/stretto_cuda_collectives.h"
#include "stretto/stretto_cuda_memory.h"
#include "stretto/stretto_nonblocking.h"
#include "stretto/stretto_persistent.h"
#include "stretto/stretto_stream.h"

#include <stdio.h>
#include <string.h>

int main(void) {
  stretto_thread_group group = NULL;
  stretto_comm comm = NULL;
  stretto_report report = STRETTO_REPORT_INIT;
  stretto_options options = STRETTO_OPTIONS_INIT;
  stretto_request request = NULL;
  double x[3] = {1, 2, 3}, y[3] = {0, 0, 0}, z[3] = {0, 0, 0}, lo = 0, hi = 0;
  options.report = &report;
  if (stretto_thread_group_create(1, &group) || stretto_comm_create_threads(group, 0, &comm) ||
      stretto_allreduce(x, y, 3, STRETTO_F64, STRETTO_SUM, comm, &options) || memcmp(x, y, sizeof x) != 0 ||
      stretto_iallreduce(x, z, 3, STRETTO_F64, STRETTO_SUM, comm, NULL, &request) || stretto_wait(request) ||
      stretto_request_free(&request) || memcmp(x, z, sizeof x) != 0 ||
      stretto_value_range(STRETTO_F64, x, 3, &lo, &hi) || lo != 1 || hi != 3 || stretto_comm_free(comm) ||
      stretto_thread_group_free(group)) {
    fprintf(stderr, "%s\n", stretto_message());
    return 1;
  }
  return strcmp(report.payload, "raw") != 0;
}
