"""A population of networks as its file has it: `data/users/*.toml`, and files of users.

```toml
title = "Who visits our site"

[[users]]
name = "phones"
link = "lte-typical"
weight = 70
source = "our logs of March"
```
"""

from __future__ import annotations

from collections.abc import Sized
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, Field

from cwndlab.schema.base import Model
from cwndlab.schema.link import Link  # noqa: TC001  pydantic reads it at run time
from cwndlab.schema.ranges import Basis

Filled = TypeVar("Filled", bound=Sized)


def _filled(value: Filled) -> Filled:
    if not len(value):
        msg = "must not be empty"
        raise ValueError(msg)
    return value


class WrittenClass(Basis):
    """Users whose networks are alike; `source` or `invented` say where the weight comes from."""

    name: Annotated[str, AfterValidator(_filled)] = Field(
        description="name of the class in results"
    )
    link: Link = Field(description="link of these users: a table, or a line such as lte-typical")
    weight: Annotated[float, Field(gt=0, allow_inf_nan=False)] = Field(
        description="weight of the class, relative to the others'"
    )
    set: dict[str, Any] = Field(
        default={},
        description='further settings of the study for this class: "link.server" = "40 ms"',
    )


class WrittenPopulation(Model):
    """A file of users: a population of networks."""

    title: str = Field(default="", description="title of the population in reports")
    description: str = Field(
        default="", description="the users that the population stands for, in a few sentences"
    )
    users: Annotated[tuple[WrittenClass, ...], AfterValidator(_filled)] = Field(
        description="the classes of users"
    )
