"""Find differences in settings between the variants of a study.

A variant is an algorithm with a TCP stack profile and changes to this profile. If two variants of
a study differ in exactly one setting, their curves show the effect of this setting. A report uses
such pairs of variants to decide whether curves differ because of congestion control or for another
reason.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

ALGORITHM = "congestion control"
_PARAMETER = "parameter "
_ENDS = (("sender", ""), ("receiver", "receiver's "))
_TITLES = {
    "segment_bytes": "segment size",
    "window_limit_pkts": "window limit",
    "initial_window_pkts": "initial window",
    "sack_blocks": "SACK",
    "recovery": "loss recovery",
}
_SILENT = frozenset({"name", "summary", "sources", "algorithms"})


@dataclass(frozen=True, slots=True)
class VariantSetting:
    """A setting, such as the initial window, whose value differs between two variants."""

    name: str
    first: object
    second: object


def settings_of(
    scenario: Mapping[str, Any], profile: Callable[[str], Mapping[str, Any]]
) -> dict[str, object]:
    """Return all settings of the first flow: algorithm, parameters, and TCP stacks of both ends.

    `profile` returns the values of a named stack profile, to which the flow's changes are applied.
    """
    flow = scenario["flows"][0]
    settings: dict[str, object] = {}
    for end, prefix in _ENDS:
        side = flow[end]
        if end == "sender":
            settings[ALGORITHM] = side["algorithm"]
            for name, value in side.get("parameters", {}).items():
                settings[_PARAMETER + name] = value
        changed = {**_flat(profile(side["stack"])), **_flat(side.get("stack_overrides", {}))}
        for name, value in changed.items():
            settings[prefix + _TITLES.get(name, name.replace("_", " "))] = value
    return settings


def difference_of(
    first: Mapping[str, object], second: Mapping[str, object]
) -> list[VariantSetting]:
    """Return the settings whose values differ between two variants.

    If the variants use different algorithms, the parameters of the algorithms are omitted.
    """
    names = dict.fromkeys([*first, *second])
    if first.get(ALGORITHM) != second.get(ALGORITHM):
        names = {name: None for name in names if not name.startswith(_PARAMETER)}
    return [
        VariantSetting(name, first.get(name), second.get(name))
        for name in names
        if first.get(name) != second.get(name)
    ]


def single_changes(
    variants: Mapping[str, Mapping[str, object]],
) -> Iterator[tuple[str, str, list[VariantSetting]]]:
    """Yield each pair of variants that differ in a single setting of sender or receiver.

    A setting that differs both at the sender and at the receiver counts as one difference.
    """
    for first, second in combinations(variants, 2):
        changed = difference_of(variants[first], variants[second])
        if len({setting.name.removeprefix("receiver's ") for setting in changed}) == 1:
            yield first, second, changed


def _flat(values: Mapping[str, Any]) -> dict[str, object]:
    flat: dict[str, object] = {}
    for name, value in values.items():
        if name in _SILENT:
            continue
        if isinstance(value, Mapping):
            flat |= _flat(value)
        else:
            flat[name.rpartition(".")[2]] = value
    return flat
