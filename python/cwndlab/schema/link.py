"""A link as a study writes it: the keys of `[link]`, `[reverse_link]` and `[[link.stage]]`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Self, TypeAlias

from pydantic import BeforeValidator, Field, model_validator

from cwndlab.schema.base import Model  # noqa: TC001  pydantic reads it
from cwndlab.schema.cell import CellPath
from cwndlab.schema.stage import LinkStage
from cwndlab.schema.types import DecibelText, DurationText  # noqa: TC001  pydantic reads them
from cwndlab.schema.wifi import WifiPath
from cwndlab.schema.written import written_form
from cwndlab.text.linkspec import parse_spec

if TYPE_CHECKING:  # what people write is made of the SI models at run time
    Cell: TypeAlias = Model
    Wifi: TypeAlias = Model
else:
    Cell = written_form(CellPath)
    Wifi = written_form(WifiPath)


class ChainWire(LinkStage):
    """A wire beside a cell or a Wi-Fi channel, both ways."""

    reverse: LinkStage | None = Field(
        default=None,
        description="of a wire beside a cell or a Wi-Fi channel: its keys the other way; nothing "
        "but the same delay if absent",
    )


class LinkOrMedium(LinkStage):
    """A wire, a cell or a Wi-Fi channel, or a preset with changes."""

    preset: str | None = Field(
        default=None, description="name of a preset or TOML file whose keys hold where none is here"
    )
    period: str | None = Field(
        default=None, description="of the day, of a preset that knows several: its figures then"
    )
    bandwidth: str | None = Field(
        default=None, description='of a cell or a Wi-Fi channel: its width, "60 MHz"'
    )
    layers: Annotated[int, Field(ge=1, le=8)] | None = Field(
        default=None, description="of a cell or a Wi-Fi channel: spatial layers towards the user"
    )
    mcs: Annotated[int, Field(ge=0, le=31)] | None = Field(
        default=None,
        description="of a cell or a Wi-Fi channel: always this modulation and coding scheme",
    )
    users: Annotated[int, Field(ge=1, le=2007)] | None = Field(
        default=None, description="of a cell or a Wi-Fi channel: how many users or stations"
    )
    coverage: DecibelText | None = Field(
        default=None,
        description="of a cell: mean signal to interference and noise ratio towards the users; "
        "the one from them moves along",
    )
    speed: str | None = Field(
        default=None,
        description='of a cell\'s users, "120 km/h": sets Doppler shift and the pace of shadowing',
    )
    handover: str | None = Field(
        default=None, description='of a cell: interval and interruption, "every 30 s, 40 ms"'
    )
    drx: str | None = Field(
        default=None,
        description='of a cell: silence until users sleep, and cycle, "after 100 ms, every 40 ms"',
    )
    cell: Cell | None = Field(default=None, description="a radio cell: both directions")
    wifi: Wifi | None = Field(default=None, description="a Wi-Fi channel: both directions")

    @model_validator(mode="after")
    def _is_one_link(self) -> Self:
        if self.cell is not None and self.wifi is not None:
            msg = '"cell" and "wifi" both say what the link is; keep one of them'
            raise ValueError(msg)
        # A policer is of every link.
        beside = sorted(self.model_fields_set & LinkStage.model_fields.keys() - {"police"})
        if self.medium and beside:
            msg = (
                f'"{beside[0]}" is a wire\'s; this link is a {self.medium[0]}, with keys of its own'
            )
            raise ValueError(msg)
        return self

    @property
    def medium(self) -> tuple[str, Model] | None:
        """The cell or Wi-Fi channel that the link is, by its key."""
        for key in ("cell", "wifi"):
            if getattr(self, key) is not None:
                return key, getattr(self, key)
        return None


class ChainStage(LinkOrMedium, ChainWire):
    """One link of a chain."""

    @model_validator(mode="after")
    def _has_two_ways(self) -> Self:
        if self.medium and self.reverse is not None:
            msg = f'"reverse" is a wire\'s; a {self.medium[0]} is both directions'
            raise ValueError(msg)
        return self


class Link(LinkOrMedium):
    """One direction of a path: a wire, a chain of stages, or a preset with changes.

    A cell or a Wi-Fi channel is both directions at once, and so is a chain with one of them.
    """

    name: str | None = Field(default=None, description="what results call it")
    server: DurationText | None = Field(
        default=None,
        description="delay between the link and the server, one way: behind an access point or a "
        "wire, of a cell in place of its core_delay",
    )
    wire: ChainWire | None = Field(
        default=None,
        description="between the server and a cell or a Wi-Fi channel: the keys of a wire there",
    )
    stage: tuple[ChainStage, ...] = Field(
        default=(), description="the links of a chain, the server's end first"
    )

    @model_validator(mode="after")
    def _has_no_wire_beside_its_stages(self) -> Self:
        beside = sorted(self.model_fields_set & LinkStage.model_fields.keys())
        if self.stage and beside:
            msg = f'"{beside[0]}" stands beside [[link.stage]]; move it into one of the stages'
            raise ValueError(msg)
        for key in ("cell", "wifi", "wire"):
            if self.stage and getattr(self, key) is not None:
                msg = f'"stage" and "{key}" both say what the link is; keep one of them'
                raise ValueError(msg)
        return self


SHORT_KEYS = ("bandwidth", "layers", "mcs", "users", "coverage", "speed", "handover", "drx")
"""Keys of a link that stand for several of a cell's or a Wi-Fi channel's."""


def _text_as_link(value: object) -> object:
    return parse_spec(value) if isinstance(value, str) else value


LinkOrText = Annotated[Link, BeforeValidator(_text_as_link)]
