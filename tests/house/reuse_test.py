"""cmake/reuse.py takes an object of another build where the same command made it, and compiles otherwise."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

REUSE = pathlib.Path(__file__).resolve().parents[2] / "cmake/reuse.py"


class Reuse(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(scratch.name).resolve()
        self.here, self.other = self.root / "build/wheel", self.root / "build/release"
        for build in (self.here, self.other):
            build.mkdir(parents=True)
        self.compiler = self.root / "cc"
        self.compiler.write_text('#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\nprintf compiled >"$2"\n', encoding="utf-8")
        self.compiler.chmod(0o755)

    def object(self, theirs, ours, contents=b"taken"):
        """The object, where the other build has these contents by a command with the arguments `theirs`, and this one wants it by `ours`."""
        (self.other / "a.o").write_bytes(contents)
        command = f"{self.compiler} -I{self.other}/generated {theirs} -o a.o -c {self.root}/a.c"
        (self.other / "compile_commands.json").write_text(json.dumps([{"command": command}]), encoding="utf-8")
        subprocess.run([sys.executable, REUSE, self.other, self.compiler, f"-I{self.here}/generated", *ours.split(), "-MD", "-MT", "a.o", "-MF", "a.d", "-o", "a.o",
                        "-c", f"{self.root}/a.c"], cwd=self.here, check=True)
        return (self.here / "a.o").read_text(encoding="utf-8")

    def test_an_object_of_an_equal_command_is_taken(self):
        self.assertEqual(self.object("-O3 -Werror", "-O3"), "taken")
        self.assertEqual((self.here / "a.d").read_text(encoding="utf-8"), f"a.o: {self.other}/a.o\n")

    def test_another_command_compiles(self):
        self.assertEqual(self.object("-O3", "-O2"), "compiled")
        self.assertEqual(self.object("-O3", "-O3 -DX"), "compiled")

    def test_a_path_that_is_mapped_elsewhere_compiles(self):
        mapped = f"-O3 -ffile-prefix-map={self.root}=stretto"
        self.assertEqual(self.object("-O3", mapped), "taken")
        self.assertEqual(self.object("-O3", mapped, f"at {self.root}/a.c".encode()), "compiled")

    def test_without_the_other_build_it_compiles(self):
        self.assertEqual(self.object("-O3", "-O3"), "taken")
        (self.other / "compile_commands.json").unlink()
        subprocess.run([sys.executable, REUSE, self.other, self.compiler, "-o", "a.o"], cwd=self.here, check=True)
        self.assertEqual((self.here / "a.o").read_text(encoding="utf-8"), "compiled")


if __name__ == "__main__":
    unittest.main()
