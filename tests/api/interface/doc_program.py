"""doc_program.py MARKDOWN NUMBER OUTPUT: write the NUMBER-th C program of a page, so that it is compiled and run."""
import pathlib
import re
import sys

page, number, output = sys.argv[1:]
blocks = re.findall(r"^```c\n(.*?)^```$", pathlib.Path(page).read_text(), re.DOTALL | re.MULTILINE)
programs = [b for b in blocks if "int main(" in b]
pathlib.Path(output).write_text(programs[int(number) - 1])
