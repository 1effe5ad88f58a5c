/* stretto.h is C99 by itself: this file is compiled with -std=c99 -pedantic -Werror, and linked to check the names. */
#include "stretto/stretto.h"
#include "stretto/stretto_cuda.h"

#include <stdio.h>
#include <string.h>

int main(void) {
  stretto_thread_group group = NULL;
  stretto_comm comm = NULL;
  stretto_report report = STRETTO_REPORT_INIT;
  stretto_options options = STRETTO_OPTIONS_INIT;
  double x[3] = {1, 2, 3}, y[3] = {0, 0, 0};
  options.report = &report;
  if (stretto_thread_group_create(1, &group) || stretto_comm_create_threads(group, 0, &comm) ||
      stretto_allreduce(x, y, 3, STRETTO_F64, STRETTO_SUM, comm, &options) || memcmp(x, y, sizeof x) != 0 ||
      stretto_comm_free(comm) || stretto_thread_group_free(group)) {
    fprintf(stderr, "%s\n", stretto_message());
    return 1;
  }
  return strcmp(report.payload, "raw") != 0;
}
