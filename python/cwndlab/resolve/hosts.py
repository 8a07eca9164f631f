"""Load host presets, which describe the network devices of measured machines.

A host file contains a title, a table `[host]` and, like the presets of links, a table `[sources]`
with the origin of each value.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from cwndlab.errors import UnknownNameError
from cwndlab.resolve.presets import Mark
from cwndlab.schema.base import Model
from cwndlab.schema.checking import checked
from cwndlab.schema.host import NO_HOST, Host, WrittenHost
from cwndlab.schema.problems import FieldError
from cwndlab.schema.written import merged, to_si
from cwndlab.text.toml import TomlSource

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cwndlab.text.toml import KeyPath

_FOLDER = Path(__file__).parents[1] / "data" / "hosts"


class HostPreset(Model):
    """A host preset, which describes the network device of a machine."""

    title: str
    description: str = ""
    host: WrittenHost
    sources: dict[str, Mark] = Field(default={})


@functools.cache
def hosts() -> Mapping[str, Path]:
    """Map the name of each host preset to the path of its file in the package."""
    return {path.stem: path for path in sorted(_FOLDER.glob("*.toml"))}


@functools.cache
def load_host(name: str) -> HostPreset:
    """Return the host preset with this name.

    Raises:
        UnknownNameError: no host preset has this name.
        CwndlabError: the file of the host preset is invalid; the message names the line.
    """
    if name not in hosts():
        raise UnknownNameError(name, (*hosts(), NO_HOST), "cwndlab host list", kind="host")
    return checked(TomlSource.read(hosts()[name]), HostPreset)


def resolve_host(written: Model | None, key: KeyPath) -> Host | None:
    """Return the network device that a study describes at `key`; None if there is no device.

    Raises:
        FieldError: the name of the device's preset is unknown, or a key is missing.
    """
    if written is None:
        return None
    name = getattr(written, "preset", None)
    if name == NO_HOST:
        return None
    if name is not None:
        try:
            preset = load_host(name)
        except UnknownNameError as error:
            raise FieldError(key, str(error)) from None
        written = merged(preset.host, written)
    return to_si(written, Host, key)
