"""Keys that say in a word what several keys of a cell or a Wi-Fi channel say together.

They hold after any preset, whose keys they change: `speed = "120 km/h"` sets the Doppler shift and
how fast shadows pass, `bandwidth = "60 MHz"` the carrier's width. What they become is what the long
keys would have said.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from cwndlab.errors import QuantityError
from cwndlab.resolve.queues import FULL_PACKET_BYTES
from cwndlab.schema.link import SHORT_KEYS, Cell, Link, Wifi
from cwndlab.schema.problems import FieldError, field_errors
from cwndlab.schema.written import merged
from cwndlab.text.quantity import (
    format_decibel,
    format_duration,
    format_frequency,
    format_rate,
    format_size,
    parse_duration,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cwndlab.schema.base import Model
    from cwndlab.schema.stage import Police
    from cwndlab.text.toml import KeyPath

_RESOURCE_BLOCKS = {
    "1.4 MHz": 6,
    "3 MHz": 15,
    "5 MHz": 25,
    "10 MHz": 50,
    "15 MHz": 75,
    "20 MHz": 100,
}
"""Of LTE's bandwidths, 3GPP TS 36.101 table 5.6-1."""

_CARRIER_HZ = {"umts": 2_100_000_000, "lte": 2_600_000_000, "nr": 3_500_000_000}
"""Of the presets: the bands of each technology that most networks have."""

_LIGHT_M_S = 299_792_458
_WALK_MM_S = 833  # 3 km/h, at which the presets' shadows take their time
_SPEED = re.compile(r"([0-9]{1,4}(?:\.[0-9]{1,3})?) (km/h|m/s)")
_MM_S = {"km/h": 1000 / 3.6, "m/s": 1000.0}

_NEVER = "24 h"


def with_short_keys(link: Link, key: KeyPath) -> Link:
    """The link with what its short keys say in the tables that they stand for.

    Raises:
        FieldError: one does not go with the link, or is not what it should be.
    """
    given = [name for name in SHORT_KEYS if getattr(link, name) is not None]
    if link.police is not None and link.medium is not None and link.medium[0] == "cell":
        given.append("police")
    if not given:
        return link
    if link.medium is None:
        message = "this is a key of a cell or a Wi-Fi channel; this link is a wire"
        raise FieldError((*key, given[0]), message)
    kind, table = link.medium
    changes = _OF_CELL if kind == "cell" else _OF_WIFI
    form: type[Model] = Cell if kind == "cell" else Wifi
    for name in given:
        if name not in changes:
            what = "cell" if kind == "cell" else "Wi-Fi channel"
            message = f"a {what} has none; it has {', '.join(changes)}"
            raise FieldError((*key, name), message)
        try:
            change = changes[name](table, getattr(link, name))
            table = merged(table, form.model_validate(change))
        except QuantityError as error:
            raise FieldError((*key, name), str(error)) from None
        except ValidationError as error:
            problem = field_errors(error, form, change)[0]
            raise FieldError((*key, name), problem.message) from None
    update: dict[str, Any] = dict.fromkeys(given)
    return link.model_copy(update={**update, kind: table})


def _radio_kind(cell: Any) -> str:  # noqa: ANN401  made of the SI model
    return "" if cell.radio is None else str(cell.radio.kind)


def _cell_bandwidth(cell: Any, text: str) -> dict[str, Any]:  # noqa: ANN401  as above
    match _radio_kind(cell):
        case "nr":
            return {"radio": {"kind": "nr", "bandwidth": text}}
        case "lte" if text in _RESOURCE_BLOCKS:
            return {"radio": {"kind": "lte", "resource_blocks": _RESOURCE_BLOCKS[text]}}
        case "lte":
            msg = f"LTE has {', '.join(_RESOURCE_BLOCKS)}"
            raise QuantityError(msg)
        case _:
            msg = "the carriers of UMTS are all as wide, 5 MHz; leave this out"
            raise QuantityError(msg)


def _cell_layers(cell: Any, layers: int) -> dict[str, Any]:  # noqa: ANN401  as above
    match _radio_kind(cell):
        case "nr":
            return {"radio": {"kind": "nr", "downlink_layers": layers}}
        case "lte":
            return {"radio": {"kind": "lte", "layers": layers}}
        case _:
            msg = "UMTS has one layer here; leave this out"
            raise QuantityError(msg)


def _cell_mcs(_cell: Any, scheme: int) -> dict[str, Any]:  # noqa: ANN401  as above
    fixed = {"adaptation": {"kind": "fixed", "scheme": scheme}}
    return {"downlink": fixed, "uplink": fixed}


def _cell_users(_cell: Any, users: int) -> dict[str, Any]:  # noqa: ANN401  as above
    return {"users": users}


def _cell_coverage(cell: Any, ratio_mdb: int) -> dict[str, Any]:  # noqa: ANN401  as above
    user = _one_user(cell)
    if user.downlink is None or user.uplink is None:
        msg = "the preset's users have no ratios to move; write cell.user"
        raise QuantityError(msg)
    moved_mdb = ratio_mdb - user.downlink
    ratios = {
        "downlink": format_decibel(ratio_mdb),
        "uplink": format_decibel(user.uplink + moved_mdb),
    }
    return {"user": ratios}


def _cell_speed(cell: Any, text: str) -> dict[str, Any]:  # noqa: ANN401  as above
    """The Doppler shift of the speed, and shadows that are as long in metres as a walker's."""
    user = _one_user(cell)
    speed_mm_s = _speed_mm_s(text)
    carrier_hz = _CARRIER_HZ.get(_radio_kind(cell), _CARRIER_HZ["lte"])
    doppler_mhz = round(speed_mm_s * carrier_hz / _LIGHT_M_S)
    if user.fading is None:
        msg = "the preset has no fading that a speed could change; write cell.user.fading"
        raise QuantityError(msg)
    change: dict[str, Any] = {"fading": {"doppler": format_frequency(max(1, doppler_mhz))}}
    if user.drifts:
        change["drifts"] = [
            {
                "sigma": format_decibel(drift.sigma),
                "correlation": format_duration(round(drift.correlation * _WALK_MM_S / speed_mm_s)),
            }
            for drift in user.drifts
        ]
    return {"user": change}


def _speed_mm_s(text: str) -> float:
    match = _SPEED.fullmatch(text.strip())
    speed_mm_s = float(match[1]) * _MM_S[match[2]] if match else 0.0
    if not speed_mm_s:
        msg = 'not a speed above 0; write for example "120 km/h", "1.4 m/s"'
        raise QuantityError(msg)
    return speed_mm_s


def _one_user(cell: Any) -> Any:  # noqa: ANN401  as above
    if cell.user is None or isinstance(cell.user, tuple):
        msg = "the preset describes its users one by one; write cell.users"
        raise QuantityError(msg)
    return cell.user


def _cell_handover(_cell: Any, text: str) -> dict[str, Any]:  # noqa: ANN401  as above
    """`every 30 s, 40 ms`."""
    interval, interruption = _two_times(text, "every ", 'write for example "every 30 s, 40 ms"')
    return {"handover": {"interval": interval, "interruption": interruption, "is_lossless": True}}


def _cell_drx(_cell: Any, text: str) -> dict[str, Any]:  # noqa: ANN401  as above
    """`after 100 ms, every 40 ms`: silence, then a cycle; users stay connected."""
    remedy = 'write for example "after 100 ms, every 40 ms"'
    after, cycle = _two_times(text, "after ", remedy)
    connected = {
        "inactivity": _NEVER,
        "promotion_least": "0 s",
        "promotion_most": "0 s",
        "paging_cycle": "1280 ms",
    }
    known = _cell.rrc
    kept = {} if known is None else dict.fromkeys(known.model_fields_set)
    rest = {name: text for name, text in connected.items() if name not in kept}
    return {"rrc": {"drx_after": after, "drx_cycle": cycle.removeprefix("every "), **rest}}


def _two_times(text: str, begin: str, remedy: str) -> tuple[str, str]:
    first, comma, second = text.partition(",")
    second = second.strip()
    if not comma or not first.startswith(begin):
        msg = f"not two times; {remedy}"
        raise QuantityError(msg)
    for each in (first.removeprefix(begin), second.removeprefix("every ")):
        parse_duration(each)
    return first.removeprefix(begin).strip(), second


def _cell_police(_cell: Any, police: Police) -> dict[str, Any]:  # noqa: ANN401  as above
    if police.burst < FULL_PACKET_BYTES:
        size = f"{FULL_PACKET_BYTES} bytes"
        msg = f"its burst: a packet of {size} would never pass; write at least that"
        raise QuantityError(msg)
    return {"police": {"rate": format_rate(police.rate), "burst": format_size(police.burst)}}


def _wifi_bandwidth(_wifi: Any, text: str) -> dict[str, Any]:  # noqa: ANN401  as above
    return {"channel": text}


def _wifi_layers(_wifi: Any, layers: int) -> dict[str, Any]:  # noqa: ANN401  as above
    return {"spatial_streams": layers}


def _wifi_mcs(_wifi: Any, index: int) -> dict[str, Any]:  # noqa: ANN401  as above
    return {"rate_control": {"kind": "fixed", "index": index}}


def _wifi_users(_wifi: Any, users: int) -> dict[str, Any]:  # noqa: ANN401  as above
    return {"stations": users}


_OF_CELL: Mapping[str, Callable[[Any, Any], dict[str, Any]]] = {
    "bandwidth": _cell_bandwidth,
    "layers": _cell_layers,
    "mcs": _cell_mcs,
    "users": _cell_users,
    "coverage": _cell_coverage,
    "speed": _cell_speed,
    "handover": _cell_handover,
    "drx": _cell_drx,
    "police": _cell_police,
}
_OF_WIFI: Mapping[str, Callable[[Any, Any], dict[str, Any]]] = {
    "bandwidth": _wifi_bandwidth,
    "layers": _wifi_layers,
    "mcs": _wifi_mcs,
    "users": _wifi_users,
}
