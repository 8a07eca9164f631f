"""Create the families of radio links: HSPA, LTE and 5G NR cells, and Wi-Fi."""

from __future__ import annotations

from typing import Any

from cwndlab.inference.family import Dimension, Family, longest_trip_ms

_LTE_WIDTHS = ("5 MHz", "10 MHz", "15 MHz", "20 MHz")
_NR_WIDTHS = ("20 MHz", "40 MHz", "60 MHz", "100 MHz")
_HSPA_MOST, _LTE_LEAST, _LTE_MOST, _NR_LEAST = 7.0, 0.4, 140.0, 12.0
"""Limits, in Mbit/s, of the measured goodput at which a kind of cell may explain a measurement.

HSPA cells have only an upper limit, and 5G NR cells only a lower limit.
"""
_WIFI_MOST = 400.0
_STANDARDS = ("802.11n, 20 MHz", "802.11n, 40 MHz", "802.11ac, 80 MHz")

_SPEED = Dimension("speed", "Speed of the user", "km/h", 0.4, 100)
_DRIFT = Dimension("drift", "Shadowing", "dB", 0.5, 6)
_OTHERS = Dimension("others", "Number of other users", "", 0.0, 6.49, is_linear=True)
_COVERAGE = Dimension("coverage", "Coverage", "dB", 0, 26, is_linear=True)


def cells(goodput_mbit_s: float, shortest_rtt_ms: float) -> list[Family]:
    """Return the families of radio cells that may explain a goodput and a minimum RTT."""
    found = []
    if goodput_mbit_s < _HSPA_MOST:
        found.append(_cell("hspa", "HSPA cells", (), (50, 2000), shortest_rtt_ms))
    if _LTE_LEAST < goodput_mbit_s < _LTE_MOST:
        found.append(_cell("lte", "LTE cells", _LTE_WIDTHS, (60, 5000), shortest_rtt_ms))
    if goodput_mbit_s > _NR_LEAST:
        found.append(_cell("nr", "5G NR cells", _NR_WIDTHS, (80, 8000), shortest_rtt_ms))
    return found


def wifi(goodput_mbit_s: float, shortest_rtt_ms: float) -> list[Family]:
    """Return the family of Wi-Fi links as a list; empty if the goodput is too high for Wi-Fi."""
    if goodput_mbit_s > _WIFI_MOST:
        return []
    parameters = (
        Dimension(
            "line", "Rate of the access line", "Mbit/s", 0.95 * goodput_mbit_s, 60 * goodput_mbit_s
        ),
        _server(shortest_rtt_ms),
        Dimension("queue", "Queue of the access point", "packets", 30, 2000),
        Dimension("line_queue", "Queue of the access line", "packets", 10, 1000),
        Dimension("distance", "Distance from the access point", "m", 2, 40),
        Dimension("load", "Airtime used by other stations", "%", 1, 60, is_linear=True),
        Dimension.of_choices("standard", "Standard", _STANDARDS),
    )
    return [Family("wifi", "wifi", "Wi-Fi", parameters, _wifi)]


def _server(shortest_rtt_ms: float) -> Dimension:
    return Dimension(
        "server",
        "One-way delay to the server",
        "ms",
        max(0.05, 0.1 * shortest_rtt_ms / 2),
        max(0.1, longest_trip_ms(shortest_rtt_ms) / 2),
    )


def _cell(
    name: str,
    title: str,
    widths: tuple[str, ...],
    queue_kb: tuple[float, float],
    shortest_rtt_ms: float,
) -> Family:
    parameters = [
        _COVERAGE,
        _server(shortest_rtt_ms),
        Dimension("queue", "Queue", "kB", *queue_kb),
        _OTHERS,
        _SPEED,
        _DRIFT,
    ]
    if widths:
        parameters.append(Dimension.of_choices("width", "Carrier bandwidth", widths))

    def build(value: dict[str, float], _duration_s: float, _seed: int) -> dict[str, Any]:
        cell: dict[str, Any] = {
            "downlink": {"queue": f"{value['queue']:.0f} kB"},
            "uplink": {"queue": f"{value['queue']:.0f} kB"},
            "user": {"drifts": [{"sigma": f"{value['drift']:.2f} dB", "correlation": "10 s"}]},
            "background": [],
        }
        if others := round(value["others"]):
            cell["background"] = [
                {
                    "users": others,
                    "way": "down",
                    "lowest": "8 dB",
                    "highest": "16 dB",
                    "on": "2 s",
                    "off": "4 s",
                }
            ]
        link = {
            "preset": f"{name}-typical",
            "coverage": f"{value['coverage']:.2f} dB",
            "server": f"{value['server']:.3f} ms",
            "speed": f"{value['speed']:.2f} km/h",
            "cell": cell,
        }
        if widths:
            link["bandwidth"] = widths[int(value["width"])]
        return {"link": link}

    return Family(name, "cell", title, tuple(parameters), build)


def _wifi(value: dict[str, float], _duration_s: float, _seed: int) -> dict[str, Any]:
    standard, width = _STANDARDS[int(value["standard"])].split(", ")
    return {
        "link": {
            "preset": "wifi-typical",
            "wifi": {
                "standard": standard,
                "station": {"x": f"{value['distance']:.2f} m"},
                "queue_packets": round(value["queue"]),
                "interference": {"share": f"{value['load']:.2f} %"},
            },
            "bandwidth": width,
            "wire": {
                "rate": f"{value['line'] * 1000:.0f} kbit/s",
                "delay": f"{value['server'] * 1000:.0f} us",
                "queue": f"{round(value['line_queue'])} packets",
            },
        }
    }
