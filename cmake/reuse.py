"""A compiler launcher that takes an object from another build directory, where the same command made it; otherwise it compiles.

reuse.py DIRECTORY COMPILER ARGUMENT...: the other build is up to date, and the current directory is this build's. Commands are the same if they
differ in the paths of their builds, in -Werror, and in -ffile-prefix-map for an object that has no such path.
"""

import json
import os
import shlex
import shutil
import sys

MAPS = "-ffile-prefix-map="


def meaning(arguments, build):
    """The arguments that count, without the path of their build and without those for dependencies."""
    counted, skipped = [], False
    for argument in arguments:
        if not skipped and argument not in ("-MD", "-MT", "-MF", "-Werror") and not argument.startswith(MAPS):
            counted.append(argument.replace(build, ""))
        skipped = argument in ("-MT", "-MF")
    return counted


def take(build, arguments):
    """Copies the object from that build; false where it has none of this command."""
    output = arguments[arguments.index("-o") + 1]
    theirs = os.path.join(build, output)
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        commands = [entry["command"] for entry in json.load(file) if f" -o {output} " in entry["command"]]
    if len(commands) != 1 or meaning(shlex.split(commands[0]), build) != meaning(arguments, os.getcwd()):
        return False
    paths = [argument[len(MAPS):].partition("=")[0] for argument in arguments if argument.startswith(MAPS)]
    with open(theirs, "rb") as file:
        contents = file.read()
    if not output.endswith(".gch") and any(os.fsencode(path) in contents for path in paths):
        return False
    if "-MF" in arguments:  # the other build knows the headers, and makes its object anew
        with open(arguments[arguments.index("-MF") + 1], "w", encoding="utf-8") as file:
            file.write(f"{output}: {theirs}\n")
    shutil.copyfile(theirs, output)
    return True


def main(build, *arguments):
    try:
        taken = take(build, arguments)
    except (OSError, ValueError):
        taken = False
    if not taken:
        os.execvp(arguments[0], arguments)


main(*sys.argv[1:])
