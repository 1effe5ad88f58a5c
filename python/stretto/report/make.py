"""The page: its parts in their order, and the head above them."""

import datetime

from stretto import __version__, files, units
from stretto.errors import Failure
from stretto.pictures import page
from stretto.report import inputs, machine, program
from stretto.report.placement import counted

WRONG = (KeyError, TypeError, ValueError, IndexError, AttributeError, ZeroDivisionError)


def headline(found):
    """What the page says, in one sentence."""
    run = found.run
    if run:
        gained = program.savings(run)
        ran = f" on {counted(len(run['hosts']), 'host')}" if run.get("hosts") else ""
        what = f"{counted(run['ranks'], 'rank')}{ran}, {counted(program.total(run, 'calls'), 'collective')}"
        if gained and gained[0] > 0:
            return f"{what}: {program.between(*gained[:2])} saved"
        if gained and gained[1] < 0:
            return f"{what}: {program.between(-gained[1], -gained[0])} lost"
        return f"{what}, {units.seconds(program.total(run, 'seconds'))} in them"
    if found.doctor:
        names = [host["name"] for host in found.doctor["hosts"]]
        return f"{counted(len(found.doctor['ranks']), 'rank')} on {', '.join(names[:4])}{' and others' if len(names) > 4 else ''}"
    return "This machine"


def head(found, title):
    merit = program.merit(found) if found.run else machine.merit(found)
    where = ", ".join(figure for _, figure in machine.merit(found)[:2]) if found.run else ""
    terms = page.joined(*(page.element("div", page.joined(page.element("dt", name), page.element("dd", figure))) for name, figure in merit))
    return page.element("header", page.joined(page.paragraph("stretto report", "kind"), page.element("h1", title),
                                              page.paragraph(f"The machine as examined: {where}", "soft") if where else "",
                                              page.paragraph(program.places(found), "note") if found.elsewhere else "",
                                              page.element("dl", terms, class_="figures-of-merit") if merit else ""))


def contents(sections):
    """Links to the sections that there are: (name, title)."""
    return page.element("nav", page.joined(*(page.element("a", title, href=f"#{name}") for name, title in sections)), aria_label="parts of this page")


def sources(found):
    """What the page was made of, and when."""
    today = datetime.datetime.now().astimezone().strftime("%Y-%m-%d %H:%M")
    items = [page.joined(page.element("code", path), f" of {inputs.COMMANDS[kind]}", by="") for kind, paths in found.files.items() for path in paths]
    if found.doctor and "doctor" not in found.files:
        items.append("the machine as stretto-doctor found it while this page was made")
    return page.section("What this page was made of", page.element("ul", page.joined(*(page.element("li", item) for item in items))) if items else "",
                        page.paragraph(f"stretto {__version__}, {today}. The words are explained in docs/glossary.md, the columns in docs/mpi.md.", "soft"),
                        name="sources")


def part(found, kinds, make, *arguments):
    """A section; where its input lacks what the command would have written, a Failure that names the file."""
    try:
        return make(*arguments)
    except WRONG as error:
        paths = [path for kind in kinds for path in found.files.get(kind, [])]
        if not paths:
            raise
        said = f"{type(error).__name__} of {error}" if isinstance(error, KeyError) else str(error)
        raise Failure(f"{', '.join(paths)}: not what {' or '.join(inputs.COMMANDS[kind] for kind in kinds if kind in found.files)} writes ({said})") from None


def page_of(found):
    """The page of what was gathered, as HTML."""
    collectives = part(found, ("run",), program.collectives, found)
    where, between = (part(found, ("doctor",), make, found) for make in (machine.where, machine.between))
    answers = part(found, ("run", "doctor"), inputs.choices, found)
    title = part(found, ("run", "doctor"), headline, found)
    sections = [collectives, where, between, part(found, ("pingpong",), machine.messages, found, inputs.profile_of(found, answers)), machine.choice(answers),
                part(found, ("program",), program.measured, found), sources(found)]
    titles = [("program", "Collectives"), ("placement", "Where ranks are"), ("ways", "Ways"), ("messages", "Messages"), ("choice", "Choice"),
              ("programs", "Measured programs"), ("sources", "Sources")]
    there = [(name, short) for (name, short), one in zip(titles, sections) if one]
    return page.document(f"stretto: {title}", part(found, ("run", "doctor"), head, found, title), contents(there), machine.missing(found), *sections)


def write(found, path):
    try:
        files.write(path, page_of(found))
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}", status=1) from None
