"""Define how `data/users/*.toml` and users files describe a population of networks.

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
from typing import Annotated, Any, Literal, TypeVar

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
    """Users with similar networks; `source` or `invented` states the origin of their weight."""

    name: Annotated[str, AfterValidator(_filled)] = Field(
        description="name of this class of users in results"
    )
    link: Link = Field(
        description="network of the users of this class: the name of a preset such as lte-typical, "
        "the path of a TOML file such as ./my.toml, a link in one line of text, or a table of link "
        "settings"
    )
    weight: Annotated[float, Field(gt=0, allow_inf_nan=False, strict=True)] = Field(
        description="weight of this class of users, relative to the weights of the other classes"
    )
    set: dict[str, Any] = Field(
        default={},
        description="further study settings for this class of users, as PATH = VALUE: "
        '"link.server" = "40 ms"',
    )


class WrittenPopulation(Model):
    """A population of users, divided into classes of users with similar networks."""

    title: str = Field(default="", description="title that reports show for this population")
    description: str = Field(
        default="",
        description="the users that this population represents, described in a few sentences",
    )
    classes: Literal["users", "estimates"] = Field(
        default="users",
        description="meaning of the classes. `users`: each class consists of users with similar "
        "networks. `estimates`: each class is an estimate of the same network, and its weight is "
        "the probability that the estimate is right",
    )
    explained: bool = Field(
        default=True,
        strict=True,
        description="whether simulations of the links reproduce the measurement from which the "
        "links were inferred; if false, advice that is based on these links is never called sure",
    )
    users: Annotated[tuple[WrittenClass, ...], AfterValidator(_filled)] = Field(
        description="classes of users with similar networks"
    )
