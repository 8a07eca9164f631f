"""The figures of cells and channels: whole SI units, and how people write each."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from cwndlab.schema.base import Count, Packets, Ppb
from cwndlab.schema.types import (
    DecibelText,
    DurationText,
    FrequencyText,
    LengthText,
    PowerText,
    RateText,
    ShareText,
    SizeText,
)
from cwndlab.schema.written import Written

_MILLIHERTZ_PER_MHZ = 10**9
_MILLIHERTZ_PER_KHZ = 10**6

Nanoseconds = Annotated[Count, Written(DurationText, "_ns")]
Share = Annotated[Ppb, Written(ShareText, "_ppb")]
Size = Annotated[Count, Written(SizeText, "_bytes")]
Decibel = Annotated[int, Field(ge=-300_000, le=300_000), Written(DecibelText, "_mdb")]
Power = Annotated[int, Field(ge=-300_000, le=300_000), Written(PowerText, "_mdbm")]
Length = Annotated[int, Field(ge=-(10**9), le=10**9), Written(LengthText, "_mm")]
Megahertz = Annotated[Packets, Written(FrequencyText, "_mhz", scale=_MILLIHERTZ_PER_MHZ)]
Kilohertz = Annotated[Packets, Written(FrequencyText, "_khz", scale=_MILLIHERTZ_PER_KHZ)]
Millihertz = Annotated[Packets, Written(FrequencyText, "_mhz")]
Kilobits = Annotated[Packets, Written(RateText, "kbit_s", "rate", 1000)]
Small = Annotated[int, Field(ge=0, le=255)]
