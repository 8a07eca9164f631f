"""The radio technologies of a cell and their carriers, as the simulator takes them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from cwndlab.schema.base import Model, Packets
from cwndlab.schema.figures import Kilobits, Kilohertz, Megahertz, Nanoseconds, Small


class Dedicated(Model):
    """A dedicated channel of UMTS, release 99."""

    kind: Literal["dedicated"] = "dedicated"
    kbit_s: Kilobits = Field(description="rate of the channel: 64, 128 or 384 kbit/s")


class Hsdpa(Model):
    """The shared downlink channel of HSPA."""

    kind: Literal["hsdpa"] = "hsdpa"
    category: Small = Field(description="category of the handset: 1 to 12, TS 25.306")


class Hsupa(Model):
    """The enhanced uplink channel of HSPA."""

    kind: Literal["hsupa"] = "hsupa"
    category: Small = Field(description="category of the handset: 3, 5 or 6, TS 25.306")
    ramp_ns: Nanoseconds = Field(
        default=0,
        description="time in which the grant grows from one unit to a whole block after a pause",
    )


class Umts(Model):
    """UMTS with what HSPA adds."""

    kind: Literal["umts"] = "umts"
    downlink: Annotated[Dedicated | Hsdpa, Field(discriminator="kind")] = Field(
        description="channel towards the user"
    )
    uplink: Annotated[Dedicated | Hsupa, Field(discriminator="kind")] = Field(
        description="channel from the user"
    )


class LteCarrier(Model):
    """A further carrier of LTE, downlink only; what is absent is as in the first."""

    resource_blocks: Packets = Field(
        description="bandwidth: 6, 15, 25, 50, 75 or 100 resource blocks"
    )
    layers: Small | None = Field(default=None, description="spatial layers: 1, 2, 4 or 8")
    is_256qam: bool | None = Field(default=None, description="schemes up to 256QAM")


class Lte(Model):
    """LTE, frequency-division duplex."""

    kind: Literal["lte"] = "lte"
    resource_blocks: Packets = Field(
        description="bandwidth: 6, 15, 25, 50, 75 or 100 resource blocks"
    )
    layers: Small = Field(description="spatial layers of the downlink: 1, 2, 4 or 8")
    category: Small = Field(description="category of the handset: 1 to 16, TS 36.306")
    is_256qam: bool | None = Field(
        default=None,
        description="downlink schemes up to 256QAM instead of 64QAM; categories 11 to 16",
    )
    secondary: tuple[LteCarrier, ...] | None = Field(
        default=None, description="up to four further carriers, downlink only; none if absent"
    )


class Slot(Model):
    """One slot of a pattern: its symbols for data, of 14."""

    downlink_symbols: Small = Field(default=0, description="symbols for downlink data, of 14")
    uplink_symbols: Small = Field(default=0, description="symbols for uplink data, of 14")


class Nr(Model):
    """5G NR."""

    kind: Literal["nr"] = "nr"
    subcarrier_khz: Kilohertz = Field(description="subcarrier spacing: 15, 30, 60 or 120 kHz")
    bandwidth_mhz: Megahertz = Field(description="bandwidth of the carrier, as TS 38.101 has it")
    frequency_range: Literal["fr1", "fr2"] | None = Field(
        default=None,
        description="below 7.125 GHz or above 24.25 GHz: fr2 for 120 kHz if absent, else fr1",
    )
    duplex: Literal["tdd", "fdd"] | None = Field(
        default=None, description="directions take turns (tdd), or each has such a carrier (fdd)"
    )
    pattern: tuple[Slot, ...] = Field(
        default=(),
        description=(
            "slots of the TDD pattern, in order; it repeats; with fdd each slot has 13 symbols "
            "down and 14 up if absent"
        ),
    )
    downlink_layers: Small = Field(description="spatial layers towards the user")
    uplink_layers: Small = Field(description="spatial layers from the user")
    is_256qam: bool = Field(
        description="schemes up to 256QAM instead of 64QAM (tables 2 and 1 of TS 38.214)"
    )
    overhead_elements: Packets = Field(
        description="resource elements of a resource block and slot that carry no data"
    )
    base_slots: Packets = Field(description="slots that the base station takes to answer")
    acknowledge_slots: Packets = Field(
        description="fewest slots from data to their acknowledgement (K1)"
    )
    grant_slots: Packets = Field(description="fewest slots from a grant to its block (K2)")
    secondary_mhz: Megahertz | None = Field(
        default=None,
        description="bandwidth of a second carrier, downlink only, with the same slots; none if "
        "absent",
    )
