"""Generate the reference of named things: links, algorithms, stacks, hosts and populations."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from cwndlab import core
from cwndlab.judge.ledger import PUBLIC, read_ledger
from cwndlab.judge.ledger_scores import scores, share_lost
from cwndlab.judge.populations import populations
from cwndlab.resolve import reno_variants
from cwndlab.resolve.hosts import hosts, load_host
from cwndlab.resolve.presets import load_preset, presets
from cwndlab.text.wording import percent
from reference.markdown import block, code, heading, plain, sentence, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cwndlab.schema.ranges import Range

LINKS = """# Link presets

`cwndlab link show NAME` prints the same information, and `--plot` plots the link. Each value is
marked as taken from a source, assumed, or calibrated to a published value. Each assumed value has
either a range, over which recommendations are tested ([similar
networks](../explanation/verdict.md#networks-similar-to-yours)), or a reason why it has no range.

"""
ALGORITHMS = """# Algorithms

`cwndlab algorithm show NAME` prints the same information and plots the congestion window. A study
sets parameters in a table `[parameters.NAME]`. The page [How the algorithms
differ](../explanation/algorithms.md) compares the algorithms.

"""
STACKS = """# Stack profiles

A stack profile describes the behaviour of a release of a TCP stack. A study selects a profile with
the key `stack`, and overrides single settings in the table `[stack_overrides]`.
[Stacks](../explanation/stacks.md) explains how stacks affect results.

"""
HOSTS = """# Hosts

A host preset describes the devices and queues between a machine's sockets and the link. A study
selects host presets with the keys `user_host` and `server_host`. [Hosts](../explanation/hosts.md)
explains the keys of a preset.

"""
POPULATIONS = """# Populations

A population consists of users with different networks, divided into weighted classes. `cwndlab
advise --users NAME` recommends one algorithm for the whole population
([populations](../explanation/verdict.md#populations)).

"""


RECORD = """# Record against real networks

The table compares simulations with papers that measured algorithms on real networks. It counts the
claims of these papers that the simulated runs confirm or refute, and the claims that they confirm.
`tools/make_reality.py` computes the numbers from complete reproductions (`cwndlab reproduce ID`);
the line *in reality* of a recommendation states them.

"""
PUBLISHED = """## The published ledger

The published ledger (`cwndlab ledger --public`) compares predictions for classes of networks with
published measurements of several algorithms on the same path. The [sources and
rules](../notes/2026-11-ledger-sources.md) were fixed before the predictions were computed; a note
discusses [the results](../notes/2026-11-ledger.md).

"""


def record() -> str:
    """Return the page on how often advice agreed with measurements of real networks."""
    classes = tomllib.loads((files("cwndlab") / "data/reality.toml").read_text(encoding="utf-8"))
    rows = [(r["kind"], code(r["source"]), r["checked"], r["agreed"]) for r in classes.values()]
    claims = table(("network", "paper", "claims decided", "that agree"), rows)
    headings = (
        "class",
        "comparisons",
        "better one named",
        "regret, median",
        "tau",
        "requirements missed",
    )
    scored = [
        (
            each.network_class,
            each.compared,
            f"{each.agreed:g}",
            "" if each.regret is None else percent(share_lost(each.regret)),
            "" if each.tau is None else f"{each.tau:.2f}",
            ", ".join(each.failures) or "none",
        )
        for each in scores(read_ledger(PUBLIC))
    ]
    return RECORD + claims + PUBLISHED + table(headings, scored)


def links() -> str:
    """Return the page of all link presets, with the sources and ranges of their values."""
    return LINKS + "".join(map(_link, presets()))


def _link(name: str) -> str:
    preset = load_preset(name, Path())
    parts = [heading(2, code(name), name), f"**{plain(preset.title)}.** "]
    parts.append(f"{plain(' '.join(preset.description.split()))}\n\n")
    written = tomllib.loads(presets()[name].read_text(encoding="utf-8"))
    tables = ("link", "reverse_link", "period")
    rows = [row for key in tables if key in written for row in _leaves(key, written[key])]
    parts.append(table(("key", "value"), rows))
    marks = {"source": "source", "assumed": "assumed", "calibrated_to": "calibrated to"}
    parts.append(
        table(
            ("figure", "is", "origin"),
            (
                ("all others" if path == "*" else code(path), marks[mark.kind], plain(mark.text))
                for path, mark in preset.sources.items()
            ),
        )
    )
    ranges = [(code(n), _span(span), plain(span.basis)) for n, span in preset.ranges.items()]
    ranges += [(code(path), "fixed", plain(why)) for path, why in preset.fixed.items()]
    return "".join(parts) + (table(("range", "values", "why"), ranges) if ranges else "")


def _leaves(path: str, value: object) -> Iterator[tuple[str, str]]:
    """Yield the keys below `path` and their values as written in the file."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(f"{path}.{key}", inner)
    elif isinstance(value, list) and all(isinstance(item, dict) for item in value):
        for number, item in enumerate(value):
            yield from _leaves(f"{path}.{number}", item)
    else:
        yield code(path), plain(str(value))


def _span(span: Range) -> str:
    if span.choices:
        return plain(", ".join(choice.name for choice in span.choices))
    return f"{span.low} to {span.high} {span.unit}".strip()


def algorithms() -> str:
    """Return the page of all algorithms with their parameters."""
    parts = [ALGORITHMS]
    for entry in core.algorithms().values():
        parts.append(heading(2, code(entry.name), entry.name))
        parts.append(f"{sentence(entry.description)}")
        if entry.aliases:
            parts.append(f" Also called {', '.join(map(code, entry.aliases))}.")
        parts.append("\n\n")
        rows = [
            (code(p.name), p.default, f"{p.min} to {p.max}", p.unit, plain(p.doc))
            for p in entry.parameters
        ]
        head = ("parameter", "default", "range", "unit", "meaning")
        parts.append(table(head, rows) if rows else "It has no parameters.\n\n")
    parts.append(heading(2, "Loss recovery as an algorithm"))
    about = reno_variants.DESCRIPTIONS.items()
    parts.append(table(("name", "what it is"), ((code(n), plain(text)) for n, text in about)))
    return "".join(parts)


def stacks() -> str:
    """Return the page of all stack profiles, each as written in its file."""
    parts = [STACKS]
    for entry in core.stacks().values():
        parts += [heading(2, code(entry.name), entry.name)]
        parts.append(f"{sentence(str(entry.values.get('summary', '')))}\n\n")
        parts.append(block(entry.text, "ini"))
    return "".join(parts)


def host_presets() -> str:
    """Return the page of all host presets, each as written in its file."""
    parts = [HOSTS]
    for name, path in hosts().items():
        parts += [heading(2, code(name), name), f"{sentence(load_host(name).title)}\n\n"]
        parts.append(block(path.read_text(encoding="utf-8"), "ini"))
    return "".join(parts)


def population_presets() -> str:
    """Return the page of all populations with their classes."""
    parts = [POPULATIONS]
    for name, path in populations().items():
        about = tomllib.loads(path.read_text(encoding="utf-8"))
        parts += [heading(2, code(name), name), f"{sentence(about.get('title', ''))}\n\n"]
        rows = []
        for users in about["users"]:
            why = [f"{k}: {users[k]}" for k in ("source", "invented") if k in users]
            rows.append((users["name"], users["weight"], plain("; ".join(why))))
        parts.append(table(("users", "weight", "why"), rows))
    return "".join(parts)
