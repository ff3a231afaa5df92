# SPDX-License-Identifier: Apache-2.0
"""Plots as plain SVG, in the look of docs/recall.svg: curves over recall, and bars."""

import math
from xml.sax.saxutils import escape

COLOURS = ["#1b6ca8", "#d1495b", "#2e933c", "#8a5a44", "#6a4c93", "#c9820a", "#3a3a3a", "#008b8b"]
DASHES = ["", "6 3", "2 3"]  # for more series than colours
RECALL_TICKS = (0.9, 0.95, 0.98, 0.99, 0.995, 0.999)
RECALL_MOST = 0.9996  # where 1 is drawn
PANEL, HEIGHT, LEFT, RIGHT, TOP = 470, 330, 75, 15, 60
BAR, ROW = 520, 18


def style(i):
    return COLOURS[i % len(COLOURS)], DASHES[i // len(COLOURS) % len(DASHES)]


def text(x, y, words, anchor="start", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{escape(words)}</text>'


def line(x1, y1, x2, y2, colour="#ddd"):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def document(width, height, parts):
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'font-family="sans-serif" font-size="12">\n<rect width="{width:.0f}" height="{height:.0f}" fill="white"/>\n'
    )
    return head + "\n".join(parts) + "\n</svg>\n"


def recall_place(recall):
    """0 at the first tick, 1 at recall 1; every halving of what is missed takes the same room."""
    least, most = (math.log(1 - r) for r in (RECALL_TICKS[0], RECALL_MOST))
    return (math.log(1 - min(recall, RECALL_MOST)) - least) / (most - least)


def log_ticks(least, most):
    """Powers of ten and their two- and fivefold from below least to above most."""
    steps = [m * 10.0**e for e in range(-4, 9) for m in (1, 2, 5)]
    first = max([s for s in steps if s <= least], default=steps[0])
    last = min([s for s in steps if s >= most], default=steps[-1])
    return [s for s in steps if first <= s <= last]


class Axis:
    """Ticks, and the places of values from 0 to 1, where scale turns a value into a length."""

    def __init__(self, title, ticks, scale=float):
        self.title, self.ticks, self.scale = title, ticks, scale
        self.first, self.last = scale(ticks[0]), scale(ticks[-1])

    def place(self, value):
        return (self.scale(value) - self.first) / (self.last - self.first or 1)


def recall_axis():
    return Axis("recall@10", (*RECALL_TICKS, 1), recall_place)


def log_axis(title, values):
    return Axis(title, log_ticks(min(values), max(values)), math.log)


def linear_axis(title, values):
    """About five ticks of a round step."""
    least, most = min(values), max(values)
    power = 10 ** math.floor(math.log10((most - least or 1) / 5))
    step = next(s * power for s in (1, 2, 5, 10) if s * power >= (most - least) / 5)
    first = math.floor(least / step + 1e-9)
    return Axis(title, [round(i * step, 9) for i in range(first, max(first + 1, math.ceil(most / step - 1e-9)) + 1)])


def panel(title, series, left, right, x_axis, y_axis):
    """One plot; series: (name, [(x, y)], style number). Points left of the first tick are not drawn."""
    bottom = TOP + HEIGHT

    def x(value):
        return left + x_axis.place(value) * (right - left)

    def y(value):
        return bottom - y_axis.place(value) * HEIGHT

    parts = [text(left, TOP - 12, title)]
    for tick in x_axis.ticks:
        parts += [line(x(tick), TOP, x(tick), bottom), text(x(tick), bottom + 18, f"{tick:g}", "middle")]
    for tick in y_axis.ticks:
        words = f"{tick:,.0f}" if tick >= 1000 else f"{tick:g}"
        parts += [line(left, y(tick), right, y(tick)), text(left - 6, y(tick) + 4, words, "end")]
    parts.append(text((left + right) / 2, bottom + 38, x_axis.title, "middle"))
    for _, points, number in series:
        colour, dash = style(number)
        shown = [(x(a), y(b)) for a, b in points if a >= x_axis.ticks[0]]
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in shown)
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2"{dashed} points="{path}"/>')
        parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}"/>' for a, b in shown]
    return parts


def legend(names, top):
    parts = []
    for i, name in enumerate(names):
        colour, dash = style(i)
        left, y = LEFT + i % 3 * 300, top + i // 3 * 20
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        parts.append(f'<path d="M{left} {y} h26" stroke="{colour}" stroke-width="3" fill="none"{dashed}/>')
        parts.append(text(left + 32, y + 4, name))
    return parts


def picture(title, panels):
    """panels: (title, series, x axis, y axis), one or more side by side, with one legend."""
    names = list(dict.fromkeys(name for _, series, *_ in panels for name, _ in series))
    width = PANEL if len(panels) > 1 else 2 * PANEL
    parts = [text(LEFT, 26, title, more=' font-size="16"')]
    for i, (panel_title, series, x_axis, y_axis) in enumerate(panels):
        numbered = [(name, points, names.index(name)) for name, points in series]
        left = LEFT + i * width
        parts += panel(panel_title, numbered, left, left + width - LEFT - RIGHT, x_axis, y_axis)
    top = TOP + HEIGHT + 62
    parts += legend(names, top)
    return document(width * len(panels), top + -(-len(names) // 3) * 20, parts)


def curves(title, panels):
    """Queries a second against recall; panels: (title, [(name, [(recall, qps)])])."""
    made = []
    for words, series in panels:
        rates = [qps for _, points in series for recall, qps in points if recall >= RECALL_TICKS[0]] or [1, 10]
        made.append((words, series, recall_axis(), log_axis("", rates)))
    return picture(title, made)


def lines(title, x_title, y_title, series):
    """One plot on linear axes; series: [(name, [(x, y)])]."""
    points = [point for _, some in series for point in some] or [(0, 0)]
    x_axis, y_axis = linear_axis(x_title, [0, *(x for x, _ in points)]), linear_axis("", [y for _, y in points])
    return picture(title, [(y_title, series, x_axis, y_axis)])


def bars(title, groups, ours):
    """groups: (heading, [(name, seconds)]); horizontal bars, log scale, that of the name ours in another colour."""
    values = [value for _, rows in groups for _, value in rows if value > 0] or [1, 10]
    ticks = [t for t in log_ticks(min(values), max(values) * 1.01) if f"{t:e}"[0] == "1"] or [min(values)]
    least = ticks[0] if ticks[0] < min(values) else ticks[0] / 10
    most = max(values) * 1.3
    left = 250

    def x(value):
        return left + math.log(value / least) / math.log(most / least) * BAR

    top, y, parts = 56, 56, []
    for heading, rows in groups:
        parts.append(text(12, y + 13, heading, more=' font-weight="bold"'))
        y += ROW + 2
        for name, value in rows:
            colour = COLOURS[1] if name == ours else COLOURS[0]
            width = max(x(value) - left, 1)
            parts.append(text(left - 6, y + 13, name, "end"))
            parts.append(f'<rect x="{left}" y="{y + 3}" width="{width:.1f}" height="{ROW - 5}" fill="{colour}"/>')
            parts.append(text(left + width + 5, y + 13, f"{value:.3g} s"))
            y += ROW
        y += 8
    grid = [line(x(t), top - 4, x(t), y) + text(x(t), y + 16, f"{t:g}", "middle") for t in ticks if least <= t <= most]
    head = [text(12, 26, title, more=' font-size="16"'), text(left + BAR / 2, y + 34, "seconds", "middle")]
    return document(left + BAR + 90, y + 46, head + grid + parts)
