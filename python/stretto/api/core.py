"""Where the extension `stretto._core` is: beside the package's files in a wheel, else in STRETTO_LIBEXEC, in the prefix that the package is
installed in, or in the newest build of the checkout."""

import importlib
import importlib.machinery
import importlib.util
import sys

from stretto.launch import programs

NAME = "stretto._core"


def places():
    installed = (prefix / part / "stretto" for prefix in programs.prefixes() for part in programs.LIBRARIES)
    return [*programs.given(), *installed, *(build / "python" / "core" for build in programs.builds())]


def load():
    try:
        return importlib.import_module(NAME)
    except ModuleNotFoundError as error:
        if error.name != NAME:
            raise
    for place in places():
        for suffix in importlib.machinery.EXTENSION_SUFFIXES:
            file = place / f"_core{suffix}"
            if file.is_file():
                spec = importlib.util.spec_from_file_location(NAME, file)
                module = importlib.util.module_from_spec(spec)
                spec.loader.exec_module(module)
                sys.modules[NAME] = module
                return module
    raise ImportError(f"the extension {NAME} is not there for Python {sys.version_info.major}.{sys.version_info.minor}; looked in "
                      f"{', '.join(map(str, places())) or 'the package'}. Build it (make build) with nanobind and the headers of this Python, "
                      "or install a wheel.", name=NAME)


_core = load()
