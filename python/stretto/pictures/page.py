"""Pieces of HTML for pages that need no other file: text, tables, pictures inside the page. One stylesheet, page.css, has the look of all.

Pieces are strings of HTML. Text that comes from elsewhere goes through `text`; functions that take a piece say so.
"""

import base64
import html
import io
import pathlib
import re

from stretto.pictures import plots

STYLE = pathlib.Path(__file__).with_name("page.css")
COMMENT = re.compile(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<!--.*?-->|<metadata>.*?</metadata>", re.DOTALL)
QUOTED = re.compile(r"='([^'\"]*)'")
NAMED = re.compile(r'(\bid="|url\(#|href="#)')


class Piece(str):
    """HTML, as it is."""

    __slots__ = ()


def text(value):
    """HTML of a text; a piece stays what it is."""
    return value if isinstance(value, Piece) else Piece(html.escape(str(value)))


def joined(*pieces, by="\n"):
    """The pieces that there are, one after the other."""
    return Piece(by.join(text(piece) for piece in pieces if piece))


def element(name, content, **attributes):
    """`class_` stands for class, an underscore for a hyphen."""
    written = "".join(f' {key.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"' for key, value in attributes.items() if value is not None)
    return Piece(f"<{name}{written}>{text(content)}</{name}>")


def paragraph(content, kind=None):
    return element("p", content, class_=kind)


def section(title, *pieces, name):
    return element("section", joined(element("h2", title), *pieces), id=name)


def bar(label, part, colour):
    """A figure with a bar behind it, `part` (0 to 1) of its cell."""
    return Piece(f'<span class="bar" style="--of:{colour}38;--part:{100 * min(max(part, 0), 1):.1f}%">{text(label)}</span>')


def key(colour, label):
    """A square of a colour, and what it stands for."""
    return Piece(f'<span class="key"><span class="mark" style="--of:{colour}"></span>{text(label)}</span>')


def table(title, headings, rows, words=(0,), long=()):
    """A table in a box of its own, which scrolls where the window is narrow. Columns have figures, those of `words` (by number) words, and those of
    `long` sentences."""
    kinds = ["long" if i in long else "words" if i in words else None for i in range(len(headings))]
    heads = "".join(element("th", heading, scope="col", class_=kind) for heading, kind in zip(headings, kinds))
    body = "\n".join(f"<tr>{''.join(element('td', cell, class_=kind) for cell, kind in zip(row, kinds))}</tr>" for row in rows)
    caption = element("caption", title) if title else ""
    return Piece(f'<div class="scroll"><table>{caption}<thead><tr>{heads}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>')


def figure(picture, caption=""):
    """A picture (a piece), with what it shows below it."""
    return element("figure", joined(picture, element("figcaption", caption) if caption else "", by=""))


def image(png, alternative):
    """A PNG inside the page; `alternative` is for those who do not see it."""
    return Piece(f'<img alt="{html.escape(alternative)}" src="data:image/png;base64,{base64.b64encode(png).decode()}">')


def inside(svg, alternative, name):
    """An SVG inside the page, as wide as it was drawn where there is room. `name`, of letters, keeps its ids from those of others."""
    content = QUOTED.sub(r'="\1"', COMMENT.sub("", svg)).strip()
    begin, end = re.search(r"<svg\b[^>]*>", content).span()
    opening = content[begin:end]
    box = re.search(r'viewBox="([^"]*)"', opening)
    width = float(re.sub("[a-z]", "", box[1].split()[2]))
    scale = 4 / 3 if re.search(r'width="[0-9.]+pt"', opening) else 1  # pixels a unit
    numbers = " ".join(re.sub("[a-z]", "", number) for number in box[1].split())
    opening = (f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="{numbers}" role="img" '
               f'aria-label="{html.escape(alternative)}" style="width:{width * scale:.0f}px">')
    return Piece(opening + NAMED.sub(rf"\g<1>{name}-", content[end:]))


def drawn(figure_, alternative, name):
    """A figure of matplotlib as SVG inside the page; its words stay words. Closes the figure."""
    stream = io.StringIO()
    with plots.style(), plots.matplotlib.rc_context({"svg.fonttype": "none"}):
        figure_.savefig(stream, format="svg", metadata={"Date": None}, transparent=True)
    plots.plt.close(figure_)
    return inside(stream.getvalue(), alternative, name)


def document(title, *pieces):
    """The whole page."""
    style = STYLE.read_text(encoding="utf-8")
    return (f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f'<title>{html.escape(title)}</title>\n<link rel="icon" href="data:,">\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n'
            f"{joined(*pieces)}\n</main>\n</body>\n</html>\n")
