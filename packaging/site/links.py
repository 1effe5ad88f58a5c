#!/usr/bin/env python3
"""links.py PAGES: links of the checkout that lead out of docs/ lead to the site's own pages, and those to sources become names of files."""

import pathlib
import re
import sys


def on_site(page, link):
    """What a link of a page becomes; None where the site has nothing of it."""
    target, mark, place = link.partition("#")
    if page == "index.md":
        target = "architecture.md" if target == "docs" else target.removeprefix("docs/")
    header = re.fullmatch(r"\.\./include/stretto/(\w+)\.(h|hpp)", target)
    if header:
        return f"reference/c.md#{header[1]}h" if header[2] == "h" else "reference/cpp.md"
    target = re.sub(r"^\.\./(?=[A-Z]+\.md$)", "", target)
    target = re.sub(r"^docs/", "", target)
    target = "index.md" if target == "README.md" else target
    return None if target.startswith("../") else target + mark + place


def rewritten(page, text):
    def replace(found):
        if re.match(r"\w+:", found[2]):
            return found[0]
        link = on_site(page, found[2])
        return f"[{found[1]}]({link})" if link else found[1]

    return re.sub(r"\[([^\]]*)\]\(([^)\s]+)\)", replace, text)


def main(pages):
    for file in pages.glob("*.md"):
        file.write_text(rewritten(file.name, file.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
