#!/usr/bin/env python3
"""render.py DIRECTORY: renders the recipe for each variant of variants.yaml, as rattler-build does before it builds, and checks the result."""

import pathlib
import sys

import rattler_build

MPIS = {"nompi", "openmpi", "mpich"}


def main(directory):
    recipe = rattler_build.Stage0Recipe.from_file(directory / "recipe.yaml")
    rendered = recipe.render(rattler_build.VariantConfig.from_file(directory / "variants.yaml"))
    found = {}
    for one in rendered:
        told = one.recipe.to_dict()
        mpi = one.variant["mpi"]
        host = {str(need.get("name", need) if isinstance(need, dict) else need).split()[0] for need in told["requirements"]["host"]}
        if (mpi in host) == (mpi == "nompi"):
            sys.exit(f"the variant {mpi} has {sorted(host)} as its host requirements")
        if told["context"]["with_mpi"] != ("OFF" if mpi == "nompi" else "ON"):
            sys.exit(f"the variant {mpi} is built with STRETTO_MPI={told['context']['with_mpi']}")
        found[str(mpi)] = told["build"]["string"]
    if set(found) != MPIS or len(rendered) != len(MPIS):
        sys.exit(f"rendered for {found}, not once for each of {sorted(MPIS)}")
    for mpi, name in sorted(found.items()):
        print(f"conda, {mpi}: {name}")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
