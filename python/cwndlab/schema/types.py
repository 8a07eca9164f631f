"""Types that parse quantities of study files, such as `40 ms`, to whole bit/s, ns or bytes."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

from cwndlab.text import quantity


def _schema(description: str, *examples: str) -> WithJsonSchema:
    return WithJsonSchema(
        {"type": "string", "description": description, "examples": list(examples)}
    )


RateText = Annotated[
    int,
    BeforeValidator(quantity.parse_rate),
    PlainSerializer(quantity.format_rate),
    _schema("a data rate with its unit", "10 Mbit/s", "2.5 MB/s"),
]
DurationText = Annotated[
    int,
    BeforeValidator(quantity.parse_duration),
    PlainSerializer(quantity.format_duration),
    _schema("a time with its unit", "40 ms", "60 s"),
]
SizeText = Annotated[
    int,
    BeforeValidator(quantity.parse_size),
    PlainSerializer(quantity.format_size),
    _schema("a size with its unit", "1500 bytes", "64 KiB"),
]
SamplesText = Annotated[
    int,
    BeforeValidator(lambda value: 0 if value == "none" else quantity.parse_duration(value)),
    PlainSerializer(
        lambda interval_ns: quantity.format_duration(interval_ns) if interval_ns else "none"
    ),
    _schema('a time with its unit, or "none"', "100 ms", "none"),
]
