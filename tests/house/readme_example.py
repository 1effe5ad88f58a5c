#!/usr/bin/env python3
"""readme_example.py README.md OUT.c: makes a program of the C that the README shows, so that it is compiled and run.

The block may use `mine`, `sum` and `n`: a rank's contribution, the result, and how many values they have. The program then
checks the sum against the promise of the block's bound, 1e-4 of the range for each contribution.
"""

import pathlib
import re
import sys

PROGRAM = """{includes}
#include <math.h>
#include <stdio.h>

enum {{ n = 10007 }};
static float mine[n], sum[n];

int main(int argc, char** argv) {{
  int rank, ranks, wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 0; i < n; ++i) mine[i] = (float)(i % 100) * (float)(rank + 1);
{body}
  const double range = 99.0 * ranks, factor = ranks * (ranks + 1) / 2.0;
  for (int i = 0; i < n; ++i) wrong += fabs(sum[i] - i % 100 * factor) > ranks * 1e-4 * range * (1 + 1e-6);
  stretto_comm_free(comm);
  if (wrong != 0) printf("%d values of %d are wrong\\n", wrong, n);
  MPI_Finalize();
  return wrong != 0;
}}
"""


def main():
    readme, out = map(pathlib.Path, sys.argv[1:])
    blocks = re.findall(r"^```c\n(.*?)^```", readme.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    if len(blocks) != 1:
        sys.exit(f"{readme} shows {len(blocks)} blocks of C, not one")
    lines = blocks[0].splitlines()
    includes = "\n".join(line for line in lines if line.startswith("#include"))
    body = "\n".join("  " + line for line in lines if not line.startswith("#include"))
    out.write_text(PROGRAM.format(includes=includes, body=body), encoding="utf-8")


if __name__ == "__main__":
    main()
