"""Define how, where and when `cwndlab live` measures a study on a real network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from pydantic import Field

from cwndlab.schema.base import Count, Model
from cwndlab.schema.forms import PERIOD
from cwndlab.schema.types import DurationText, RateText
from cwndlab.schema.written import IfAbsent, Inferred, Written, written_form

Days = Literal["all", "working", "weekend"]
AlgorithmOn = Literal["sender", "client", "server"]
_Positive = Annotated[Count, Field(gt=0)]


class LivePath(Model):
    """How, where and when `cwndlab live` measures a study on a real network."""

    kind: Annotated[Literal["live"], Inferred()] = "live"
    place: str = Field(
        default="here",
        description="name of the place of measurement; `cwndlab live` measures only runs whose "
        "place equals its option --place",
    )
    period: Annotated[str, Field(pattern=PERIOD)] | None = Field(
        default=None,
        description="period of the day, in local time, in which runs are measured, such as "
        '"06:00-07:30"; if absent, runs are measured at any time',
    )
    days: Days = Field(default="all", description="days of the week on which runs are measured")
    at_most: _Positive | None = Field(
        default=None,
        description="maximum number of runs per day for each combination of factor levels; a run "
        "belongs to the day on which its `period` began; if absent, unlimited",
    )
    pause_ns: Annotated[Count, Written(DurationText, "_ns"), IfAbsent(2 * 10**9)] = Field(
        default=0, description="pause between two measured runs"
    )
    algorithm_on: AlgorithmOn = Field(
        default="sender",
        description='machine that uses the congestion control algorithm of the study: "sender" '
        '(the machine that sends the data), "client" or "server"; with client or server, the '
        "other machine keeps its default algorithm (cubic in simulations)",
    )
    udp_bits_per_sec: Annotated[_Positive, Written(RateText, "_bits_per_sec")] | None = Field(
        default=None,
        description="rate of the UDP datagrams that measure loss and jitter while the TCP data are "
        "sent; if absent, no datagrams are sent",
    )


if TYPE_CHECKING:  # the written form is derived from the SI model at run time
    Live: TypeAlias = Model
else:
    Live = written_form(LivePath, is_whole=True)
