"""Generated pages of the documentation, by their path in `docs/`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference import columns, commands, names, python_api, schema

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PAGES: Mapping[str, Callable[[], str]] = {
    "reference/commands.md": commands.page,
    "reference/python.md": python_api.page,
    "reference/columns.md": columns.page,
    "reference/study-keys.md": schema.study,
    "reference/users-keys.md": schema.users,
    "reference/links.md": names.links,
    "reference/algorithms.md": names.algorithms,
    "reference/stacks.md": names.stacks,
    "reference/hosts.md": names.host_presets,
    "reference/populations.md": names.population_presets,
    "reference/record.md": names.record,
}
