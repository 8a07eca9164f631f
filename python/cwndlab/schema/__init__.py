"""Define the content of study files and scenarios; this package is the only definition.

`study` and `link` define the content of study files; `scenario` defines the simulator's input.
`cwndlab.resolve` converts a study to canonical scenarios, whose values are whole numbers in SI
units.
"""

from cwndlab.schema.base import canonical_json
from cwndlab.schema.link import Link
from cwndlab.schema.scenario import Scenario
from cwndlab.schema.study import DEFAULT_STACK, Flow, StudyModel

__all__ = [
    "DEFAULT_STACK",
    "Flow",
    "Link",
    "Scenario",
    "StudyModel",
    "canonical_json",
]
