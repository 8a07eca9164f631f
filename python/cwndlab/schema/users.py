"""A population of networks, in the form used in `data/users/*.toml` and in users files.

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
    """Users with similar networks; `source` or `invented` gives the origin of the weight."""

    name: Annotated[str, AfterValidator(_filled)] = Field(
        description="name of the class in results"
    )
    link: Link = Field(
        description="link of these users: a table, or one line of text such as lte-typical"
    )
    weight: Annotated[float, Field(gt=0, allow_inf_nan=False)] = Field(
        description="weight of the class, relative to the weights of the other classes"
    )
    set: dict[str, Any] = Field(
        default={},
        description='other study settings for this class, by path: "link.server" = "40 ms"',
    )


class WrittenPopulation(Model):
    """A file of users: a population of networks."""

    title: str = Field(default="", description="title of the population in reports")
    description: str = Field(
        default="", description="the users that the population represents, in a few sentences"
    )
    users: Annotated[tuple[WrittenClass, ...], AfterValidator(_filled)] = Field(
        description="the classes of users"
    )
