#!/usr/bin/env python3
"""Pages of the reference, made from the sources: reference.py CHECKOUT OUTPUT writes c.md and cpp.md from the comments of include/stretto, and python.md,
which names the objects whose docstrings mkdocstrings shows."""

import ast
import pathlib
import re
import sys

HEADERS = ("stretto", "stretto_types", "stretto_options", "stretto_report", "stretto_nonblocking", "stretto_persistent", "stretto_call", "stretto_mpi",
           "stretto_store", "stretto_stream", "stretto_cuda", "stretto_cuda_collectives", "stretto_cuda_memory")
LEFT_OUT = re.compile(r'#(if|endif|else|include|error|pragma)|extern "C"|\}$|#define STRETTO_(STRETTO_\w+|API)\b|\}  // namespace|namespace \w+ \{')
SECTION = re.compile(r"(?:/\*|//) -{9,} (.*?) -{2,}")
NAMED = re.compile(r"(?<![\w`/.])((?:STRETTO|stretto)_\w+(?:\.hp*|\(\))?)(?![\w`])")
NAMES = re.compile(r"^(?:STRETTO_API [^(]*?|[a-z][^(=]*?[ *])(\w+)\(|^typedef .*\(\*(\w+)\)|^\} ?(\w+);|^typedef [^{(]* \*?(\w+);|^#define (\w+)|^(?:class|struct) (\w+)",
                   re.MULTILINE)


def paragraphs(text):
    """Parts of a header that blank lines part, but for those inside a comment or braces."""
    part, depth, comment = [], 0, False
    for line in [*text.splitlines(), ""]:
        if not line.strip() and depth == 0 and not comment:
            if part:
                yield part
            part = []
            continue
        if depth == 0 and not comment and LEFT_OUT.match(line):
            continue
        part.append(line)
        comment = (comment or line.lstrip().startswith("/*")) and "*/" not in line
        if not comment:
            code = re.sub(r"/\*.*?\*/|//.*|\"[^\"]*\"", "", line)
            depth += code.count("{") - code.count("}")


def prose(lines, language):
    """The text of a comment in Markdown: lists stay lists, and lines that are set in become a block of code."""
    out, code, in_list = [], [], False
    for line in [*(re.sub(r"^(/\*|//| \*/| \*|\*)( |$)", "", line).removesuffix("*/").rstrip() for line in lines), "."]:
        is_item = line.startswith((" - ", "- ", "  - "))
        if line.startswith("  ") and not is_item and not in_list or code and not line:
            code.append(line[2:])
            continue
        if code:
            out += ["", f"```{language}", *"\n".join(code).rstrip().split("\n"), "```", ""]
            code = []
        if is_item and not in_list and out and out[-1]:
            out.append("")
        in_list = is_item or in_list and line.startswith("  ")
        line = line.replace("*", r"\*").replace("<", "&lt;")
        out.append(NAMED.sub(r"`\1`", line.lstrip() if is_item else f"  {line.strip()}" if in_list else line))
    return "\n".join(out[:-1]).strip()


def page(title, files, language):
    text = [f"# {title}", ""]
    for file in files:
        text += [f"## {file.name}", ""]
        for part in paragraphs(file.read_text(encoding="utf-8")):
            section = SECTION.match(part[0])
            if section:
                text += [f"### {section[1].strip().capitalize()}", ""]
                part = part[1:]
                if part and not part[0].startswith(("/*", "STRETTO", "typedef", "#")):  # the comment goes on
                    part = ["/* " + part[0].lstrip(" *"), *part[1:]]
            end = 0
            if part and part[0].startswith("/*"):
                end = next(number for number, line in enumerate(part) if "*/" in line) + 1
            else:
                while end < len(part) and part[end].startswith("//"):
                    end += 1
            names = list(dict.fromkeys(name for found in NAMES.findall("\n".join(part[end:])) for name in found if name))
            if names:
                text += [f"#### {', '.join(names)} {{ #{names[0]} }}", "", *(f'<a id="{name}"></a>' for name in names[1:]), ""]
            if end:
                text += [prose(part[:end], language), ""]
            if part[end:]:
                text += [f"```{language}", *part[end:], "```", ""]
    return "\n".join(text)


def documented(package):
    """The public names of a package, with the modules that they come from."""
    tree = ast.parse((package / "__init__.py").read_text(encoding="utf-8"))
    public = next(ast.literal_eval(node.value) for node in tree.body if isinstance(node, ast.Assign) and node.targets[0].id == "__all__")
    imported = {alias.name: node.module for block in tree.body if isinstance(block, ast.If) for node in block.body if isinstance(node, ast.ImportFrom)
                for alias in node.names}
    return [(name, imported[name]) for name in public]


def main(checkout, output):
    include, package = checkout / "include" / "stretto", checkout / "python" / "stretto"
    output.mkdir(parents=True, exist_ok=True)
    missing = {file.stem for file in include.glob("*.h")} - set(HEADERS)
    if missing:
        sys.exit(f"headers that the reference does not name: {', '.join(sorted(missing))}")
    (output / "c.md").write_text(page("The C interface", [include / f"{name}.h" for name in HEADERS], "c"), encoding="utf-8")
    (output / "cpp.md").write_text(page("The C++ interface", [include / "stretto.hpp"], "cpp"), encoding="utf-8")
    text = ["# The Python package", ""]
    for name, module in documented(package):
        text += [f"::: {module}.{name}", ""]
    (output / "python.md").write_text("\n".join(text), encoding="utf-8")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
