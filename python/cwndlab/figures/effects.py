"""Plot a quantity of each algorithm over the levels of a factor, such as the link's rate."""

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cwndlab.figures.canvas import house_style, legend_above, new_figure
from cwndlab.figures.standings import draw_printed, name_printed
from cwndlab.figures.style import styles_of
from cwndlab.judge.effects import Effect
from cwndlab.results.columns import quantity

_APART = 0.008  # distance between two algorithms as a fraction of the axis; separates intervals
_MOST_LEGEND_COLUMNS = 5


def plot_effect(
    axes: Axes,
    effect: Effect,
    column: str,
    printed: Mapping[str, Mapping[str, tuple[float, float]]] | None = None,
) -> None:
    """Draw the mean of a quantity for each algorithm and level of a factor, with 95 % intervals.

    Args:
        axes: the axes.
        effect: the factor and the means.
        column: the quantity, a column of the table `flows`.
        printed: what a paper prints for the quantity, by algorithm and level: the two ends of a
            range, or a single number as two equal ends. Each range is drawn as a line with a white
            diamond at its centre.
    """
    means = effect.means[column]
    styles = styles_of(means)
    with house_style():
        for at, (name, own) in enumerate(means.items()):
            shift = _APART * (at - (len(means) - 1) / 2)
            points = [
                (position + shift, each)
                for position, each in zip(effect.positions, own, strict=True)
                if each is not None
            ]
            style = styles[name]
            axes.errorbar(
                [x for x, _ in points],
                [each.estimate for _, each in points],
                yerr=[
                    [0 if each.low is None else each.estimate - each.low for _, each in points],
                    [0 if each.high is None else each.high - each.estimate for _, each in points],
                ],
                color=style.colour,
                linestyle=style.line_style if effect.is_numeric else "none",
                marker=style.marker,
                markersize=4.5,
                linewidth=1.4,
                capsize=2.5,
                label=name,
            )
            for level, (low, high) in (printed or {}).get(name, {}).items():
                if level in effect.levels:
                    x = effect.positions[effect.levels.index(level)] + shift
                    draw_printed(axes, x, low, high, style.colour)
        if printed:
            name_printed(axes)
        axes.set_xticks(effect.positions, effect.levels)
        axes.set_xlim(-0.06, 1.06)
        axes.set_xlabel(effect.factor)
        axes.set_ylabel(quantity(column).header)
        if axes.get_ylim()[0] < 0:
            axes.set_ylim(bottom=0)
        legend_above(
            axes, columns=min(_MOST_LEGEND_COLUMNS, len(axes.get_legend_handles_labels()[1]))
        )


def effect_figure(effect: Effect, column: str) -> Figure:
    """Return a figure that shows how a factor affects the quantity `column` of each algorithm."""
    figure, axes = new_figure()
    plot_effect(axes[0], effect, column)
    return figure
