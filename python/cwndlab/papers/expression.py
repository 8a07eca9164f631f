"""Evaluate expressions for the values of claims, such as `min(bic[3:7]) / max(reno[3:7])`.

A name stands for cells of a table in the paper:

- `reno` is a variant, and `all` stands for all variants;
- `uplink.reno` is a variant in one direction;
- `reno[2]` and `reno['50 kB']` are the variant's rows with the names `2` and `50 kB`;
- `reno[3:7]` are the variant's rows 3 to 7, including row 7.

Expressions may contain numbers, the four arithmetic operations and the functions in `FUNCTIONS`.
The same expression is evaluated for the table in the paper and for the means of cwndlab's runs.
"""

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from cwndlab.stats.bootstrap import Floats

EVERY_VARIANT = "all"

_LARGEST = 1e300
_MOST_ROWS = 1_000
_MOST_NESTED = 50
_TOO_DEEP = f"the expression is nested more than {_MOST_NESTED} levels deep"
_LEAST_VALUES = {"second_lowest": 2, "largest_step": 2, "rank_correlation": 2}


@dataclass(frozen=True, slots=True)
class Name:
    """The TCP variant, data direction and row that identify a cell of a table."""

    variant: str
    direction: str | None = None
    row: str | None = None


class Expression:
    """An expression that computes a value from the cells of a table."""

    def __init__(
        self,
        text: str,
        variants: tuple[str, ...] = (),
        given: Mapping[str, str | int] | None = None,
    ) -> None:
        """Parse an expression.

        `given` maps names to the values that replace them: `{"n": 2}` turns `reno[n]` into
        `reno[2]`.

        Raises:
            ValueError: the text is not a valid expression.
        """
        tree = _parse(text)
        self._tree = _Substitute(given or {}).visit(tree).body
        self._variants = variants
        self.names: tuple[Name, ...] = tuple(dict.fromkeys(self._named(self._tree)))

    def __str__(self) -> str:
        """Return the expression as text."""
        return ast.unparse(self._tree)

    def evaluate(self, values: Mapping[Name, Floats]) -> Floats:
        """Compute the expression separately at each position of the arrays in `values`.

        `values` maps each table cell in the expression to an array of numbers for this cell, for
        example one number for each bootstrap resample. These arrays and the result have equal
        shapes.

        Raises:
            ValueError: the expression, or an operand in it, stands for several table cells that no
                function combines (such as `reno[3:7]`), or a function gets too few values.
        """
        with np.errstate(all="ignore"):  # undefined results are NaN or infinite
            found = self._values(self._tree, values)
        if len(found) != 1:
            msg = f'"{self}" has {len(found)} values; combine them by min, max or mean'
            raise ValueError(msg)
        return found[0]

    def _named(self, node: ast.expr) -> list[Name]:
        match node:
            case ast.Constant(value=int() | float() as number) if abs(number) < _LARGEST:
                return []
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                return [*self._named(left), *self._named(right)]
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in FUNCTIONS:
                return [each for argument in arguments for each in self._named(argument)]
            case ast.Name() | ast.Attribute() | ast.Subscript():
                return self._cells(node)
        msg = f'"{ast.unparse(node)}" is not a table cell, number, operation or known function'
        raise ValueError(msg)

    def _cells(self, node: ast.expr) -> list[Name]:
        rows: list[str | None] = [None]
        if isinstance(node, ast.Subscript):
            rows, node = list(_rows(node.slice)), node.value
        match node:
            case ast.Name(id=variant):
                direction = None
            case ast.Attribute(value=ast.Name(id=direction), attr=variant):
                pass
            case _:
                msg = f'"{ast.unparse(node)}" is not a table cell'
                raise ValueError(msg)
        variants = self._variants if variant == EVERY_VARIANT else (variant,)
        return [Name(each, direction, row) for row in rows for each in variants]

    def _values(self, node: ast.expr, values: Mapping[Name, Floats]) -> list[Floats]:
        match node:
            case ast.Constant(value=int() | float() as number):
                return [np.asarray(number, dtype=np.float64)]
            case ast.BinOp(left=left, op=op, right=right):
                return [_OPERATORS[type(op)](self._one(left, values), self._one(right, values))]
            case ast.Call(func=ast.Name(id=name), args=arguments):
                each = [value for argument in arguments for value in self._values(argument, values)]
                if len(each) < _LEAST_VALUES.get(name, 1):
                    msg = f'"{ast.unparse(node)}" needs {_LEAST_VALUES.get(name, 1)} or more values'
                    raise ValueError(msg)
                return [FUNCTIONS[name](np.stack(np.broadcast_arrays(*each)))]
        return [values[name] for name in self._cells(node)]

    def _one(self, node: ast.expr, values: Mapping[Name, Floats]) -> Floats:
        found = self._values(node, values)
        if len(found) != 1:
            msg = f'"{ast.unparse(node)}" has {len(found)} values; combine them by min, max or mean'
            raise ValueError(msg)
        return found[0]


def _parse(text: str) -> ast.Expression:
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError as error:
        msg = f'"{text}" is not an expression: {error.msg}'
        raise ValueError(msg) from None
    except (RecursionError, MemoryError):  # the parser raises these errors for too many parentheses
        raise ValueError(_TOO_DEEP) from None
    level: list[ast.AST] = [tree]
    for _ in range(_MOST_NESTED):
        level = [inner for node in level for inner in ast.iter_child_nodes(node)]
    if level:
        raise ValueError(_TOO_DEEP)
    return tree


class _Substitute(ast.NodeTransformer):
    def __init__(self, given: Mapping[str, str | int]) -> None:
        self._given = given

    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self._given.get(node.id)
        if value is None:
            return node
        return ast.Name(value) if isinstance(value, str) else ast.Constant(value)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        row = node.slice
        if isinstance(row, ast.Name) and row.id in self._given:
            row = ast.Constant(self._given[row.id])
        return ast.Subscript(self.visit(node.value), row)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return ast.Attribute(self.visit(node.value), str(self._given.get(node.attr, node.attr)))


def _rows(node: ast.expr) -> list[str]:
    match node:
        case ast.Constant(value=int() | str() as row):
            return [str(row)]
        case ast.Slice(
            lower=ast.Constant(value=int() as first), upper=ast.Constant(value=int() as last)
        ) if last - first < _MOST_ROWS:
            return [str(row) for row in range(first, last + 1)]
    msg = f'"{ast.unparse(node)}" is not a row; write a single row, or a range of rows such as 3:7'
    raise ValueError(msg)


def _divide(one: Floats, other: Floats) -> Floats:
    ratio: Floats = one / other
    return ratio


def _largest_step(values: Floats) -> Floats:
    """Return the largest relative increase from one value of a series to the next."""
    rise: Floats = (values[1:] / values[:-1] - 1).max(axis=0)
    return rise


def _rank_correlation(values: Floats) -> Floats:
    """Return Spearman's rank correlation between values and their position, assuming no ties."""
    ranks = values.argsort(axis=0).argsort(axis=0).astype(np.float64)
    count = len(values)
    order = np.arange(count).reshape(-1, *[1] * (values.ndim - 1))
    found: Floats = 1 - 6 * ((ranks - order) ** 2).sum(axis=0) / (count * (count**2 - 1))
    return found


_OPERATORS: Mapping[type[ast.operator], Callable[[Floats, Floats], Floats]] = {
    ast.Add: lambda one, other: one + other,
    ast.Sub: lambda one, other: one - other,
    ast.Mult: lambda one, other: one * other,
    ast.Div: _divide,
}

FUNCTIONS: Mapping[str, Callable[[Floats], Floats]] = {
    "min": lambda values: values.min(axis=0),
    "max": lambda values: values.max(axis=0),
    "mean": lambda values: values.mean(axis=0),
    "median": lambda values: np.median(values, axis=0),
    "second_lowest": lambda values: np.sort(values, axis=0)[1],
    "largest_step": _largest_step,
    "rank_correlation": _rank_correlation,
}
"""Maps the name of each function that expressions may use to its implementation. Each function
takes one array `values`: `values[0]` is the first value in the function's parentheses, `values[1]`
the second, and so on. In `min(reno[3:5])`, these values are the variant's cells in rows 3, 4 and 5
of the paper's table, or the means of cwndlab's runs for these cells."""
