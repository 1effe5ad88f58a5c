#!/usr/bin/env python3
"""lint.py RECIPE: rules of conda-forge's linter, conda-smithy, by its names for them. That linter is on conda-forge alone; rattler-build refuses unknown
fields. Beside what a release adds, nothing may be found."""

import pathlib
import re
import sys

import ruamel.yaml

SECTIONS = ["schema_version", "context", "package", "source", "build", "requirements", "tests", "about", "extra"]
A_RELEASE_ADDS = ["R-002: about lacks homepage", "R-003: extra names no recipe-maintainers"]


def needs(section):
    """Requirements, and those under a condition."""
    for one in section or ():
        if isinstance(one, dict):
            for key in ("then", "else"):
                inner = one.get(key, [])
                yield from needs([inner] if isinstance(inner, str) else inner)
        else:
            yield one


def findings(text):
    recipe = ruamel.yaml.YAML().load(text)
    about, build, wanted = recipe.get("about", {}), recipe.get("build", {}), recipe.get("requirements", {})
    found = [f"R-000: {name} is no section" for name in recipe if name not in SECTIONS]
    if list(recipe) != [name for name in SECTIONS if name in recipe]:
        found.append(f"R-001: the sections' order is not {', '.join(SECTIONS)}")
    found += [f"R-002: about lacks {item}" for item in ("homepage", "license", "summary") if not about.get(item)]
    if not recipe.get("extra", {}).get("recipe-maintainers"):
        found.append("R-003: extra names no recipe-maintainers")
    if not recipe.get("tests"):
        found.append("R-005: there are no tests")
    if "number" not in build:
        found.append("R-008: build has no number")
    if list(wanted) != [name for name in ("build", "host", "run") if name in wanted]:
        found.append("R-009: the requirements' order is not build, host, run")
    if "license" in about.get("license", "").lower().split():
        found.append("R-010: the licence's name has the word license")
    if not about.get("license_file"):
        found.append("R-013: about has no license_file")
    for source in [recipe["source"]] if isinstance(recipe.get("source"), dict) else recipe.get("source", []):
        if "url" in source and not {"md5", "sha1", "sha256"} & set(source):
            found.append("R-019: the archive has no hash")
    sections = {name: list(needs(wanted.get(name))) for name in ("build", "host", "run")}
    for one in sections["build"] + sections["host"] + sections["run"]:
        if re.search(r"[<>=!] ", one):
            found.append(f"R-021: a space between operator and version: {one}")
        elif not re.fullmatch(r"\$\{\{.*\}\}|[a-z0-9_.-]+( [^ ]+){0,2}", one):
            found.append(f"R-022: no space between name and version: {one}")
    if "python" in sections["host"] and not any(one.split()[0] == "python" for one in sections["run"]):
        found.append("R-023: python is wanted on the host, and not to run")
    if any("compiler(" in one for one in sections["build"]) and '${{ stdlib("c") }}' not in sections["build"]:
        found.append("R-033: a compiler without stdlib")
    return found


if __name__ == "__main__":
    found = findings(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    if sorted(found) != sorted(A_RELEASE_ADDS):
        sys.exit("\n".join([*(one for one in found if one not in A_RELEASE_ADDS), *(f"no longer found: {one}" for one in A_RELEASE_ADDS if one not in found)]))
    print("conda: nothing is found but what a release adds:", *(one.split(" ", 1)[1] for one in found), sep="\n  ")
