// Streams without ranks: compress values, add raw values to the stream, and decompress the mean.
#include <stdio.h>
#include <stdlib.h>
#include <stretto/stretto_stream.h>

int main(void) {
  enum { n = 5000 };
  static float x[n], y[n], mean[n];
  for (int i = 0; i < n; ++i) x[i] = (float)i / n, y[i] = 1 - (float)i / n;

  size_t capacity = stretto_combine_bound(STRETTO_F32, n), a_bytes = 0, sum_bytes = 0;
  void* a = malloc(capacity);
  void* sum = malloc(capacity);
  stretto_stream_info info;
  if (stretto_compress(STRETTO_F32, x, n, 1e-3, a, capacity, &a_bytes, STRETTO_CHECKSUM) ||
      stretto_stream_add_values(a, a_bytes, y, n, sum, capacity, &sum_bytes, STRETTO_CHECKSUM) ||
      stretto_inspect(sum, sum_bytes, &info) || stretto_decompress(sum, sum_bytes, mean, n, info.contributions)) {
    fprintf(stderr, "%s\n", stretto_message());
    return 1;
  }
  printf("%u contributions in %zu bytes, each sum within %g, mean[0] = %g\n", (unsigned)info.contributions, sum_bytes,
         info.promised_error, mean[0]);
  free(a);
  free(sum);
  return 0;
}
