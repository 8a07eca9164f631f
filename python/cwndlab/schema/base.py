"""Define the base class of all Pydantic models, and the types of their numbers and flags."""

from __future__ import annotations

import json
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, Strict

Whole = Annotated[int, Strict()]
"""Type of a whole number; values of other types, such as "3", true and 3.0, are refused."""
TrueOrFalse = Annotated[bool, Strict()]
"""Type of a flag, which is true or false; other values, such as "yes" and 1, are refused."""
Count = Annotated[Whole, Field(ge=0, le=2**63 - 1)]
Packets = Annotated[Whole, Field(ge=0, le=2**32 - 1)]
Ppb = Annotated[Whole, Field(ge=0, le=10**9)]


class Model(BaseModel):
    """Base class of all Pydantic models; instances are immutable and refuse unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


def canonical_json(value: object) -> str:
    """Return a value as JSON with sorted keys and no spaces; equal values have equal texts."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
