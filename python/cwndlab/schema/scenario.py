"""Define the canonical scenario: everything that determines a run, in whole SI units.

The simulator, the kernel helper and the live server read the scenario as JSON, in which an absent
field has its default value. An unknown field is an error in Python and in Rust. The network
path is an exception: Python accepts any keys there, and only the Rust core checks them. A test
checks that the Rust types of all other parts of the scenario match these models.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from cwndlab.schema.application import Application, Bulk
from cwndlab.schema.base import Count, Model, canonical_json
from cwndlab.schema.direction import WireDirection
from cwndlab.schema.host import Host
from cwndlab.schema.path import Path

SCENARIO_VERSION: Literal[1] = 1


class End(Model):
    """Configuration of one end of a connection: TCP stack, algorithm and host."""

    stack: str
    algorithm: str
    parameters: dict[str, int] = Field(default={})
    stack_overrides: dict[str, Any] = Field(default={})
    host: Host | None = None


class ScenarioFlow(Model):
    """One connection."""

    id: Annotated[int, Field(ge=0, le=2**32 - 1)]
    direction: WireDirection = "forward"
    user: Annotated[int, Field(ge=1, le=2**16 - 1)] = 1
    start_ns: Count = 0
    stop_ns: Count | None = None
    application: Application = Bulk()
    sender: End
    receiver: End
    access_delay_ns: Count = 0


class ScenarioRecord(Model):
    """Data to record for a run in addition to its summary."""

    sample_interval_ns: Count | None = None
    events: bool = False
    ack_trace: bool = False
    pcap: str | None = None


class Scenario(Model):
    """All inputs that determine a run, except the contents of link traces.

    A scenario contains only the names of the link traces.
    """

    version: Literal[1] = SCENARIO_VERSION
    seed: Annotated[int, Field(ge=0, le=2**64 - 1)]
    duration_ns: Annotated[Count, Field(gt=0)]
    warm_up_ns: Count = 0
    path: Path
    flows: Annotated[tuple[ScenarioFlow, ...], Field(min_length=1)]
    before: tuple[Annotated[tuple[ScenarioFlow, ...], Field(min_length=1)], ...] = ()
    record: ScenarioRecord = ScenarioRecord()
    jiffies_phase_ns: Count | None = None

    def to_json(self) -> str:
        """Return the canonical JSON: sorted keys, no spaces, no null values."""
        return canonical_json(self.model_dump(mode="json", exclude_none=True))
