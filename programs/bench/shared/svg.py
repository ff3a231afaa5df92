# SPDX-License-Identifier: Apache-2.0
"""Plots as plain SVG: curves with their names at their ends, and bars.

A library has the same colour and marker in every picture. A point of a curve is (x, y) or (x, y, label).
"""

import math
from xml.sax.saxutils import escape

LOOKS = {  # colour and marker, by how a series' name begins; of one colour in a picture, the next has the next dash
    "Thresher": ("#d1495b", "circle"),
    "Faiss": ("#1b6ca8", "square"),
    "rabitqlib": ("#6a4c93", "triangle"),
    "hnswlib": ("#2e933c", "diamond"),
    "planes": ("#d1495b", "circle"),  # our own ways, where they are compared with each other
    "wta": ("#008b8b", "square"),
    "frequent": ("#8a5a44", "triangle"),
    "learned": ("#d1495b", "circle"),
    "PyTorch": ("#1b6ca8", "square"),
    "full": ("#3a3a3a", "diamond"),
    "Newton": ("#d1495b", "circle"),
    "trust": ("#008b8b", "square"),
    "2 bits": ("#e39aa4", "square"),
    "3 bits": ("#d1495b", "circle"),
    "4 bits": ("#7d2b36", "triangle"),
}
OTHER = ("#3a3a3a", "diamond")
MARKERS = {  # corners around the point; a circle has none
    "square": ((-3, -3), (3, -3), (3, 3), (-3, 3)),
    "triangle": ((-3.5, 3), (3.5, 3), (0, -4)),
    "down": ((-3.5, -3), (3.5, -3), (0, 4)),
    "diamond": ((-4, 0), (0, -4), (4, 0), (0, 4)),
}
DASHES = ["", "7 3", "2 3", "9 3 2 3", "1 2"]
RECALL_TICKS = (0.9, 0.95, 0.98, 0.99, 0.995, 0.999)
RECALL_MOST = 0.9996  # where 1 is drawn
PLOT, HEIGHT, LEFT, NAMES, TOP = 600, 330, 75, 285, 60
BETWEEN = 90  # panels, one below the other
NAME_ROW = 15  # names at the ends of lines are at least so far apart
MOST_TICKS = 9
LABEL_SIZE, LABEL_WIDTH = 9, 6  # of labels at points: height, and width of a letter
HALO = 'paint-order="stroke" stroke="white" stroke-width="3"'
BAR, ROW = 520, 18


def look_of(name):
    return next((look for words, look in LOOKS.items() if name.startswith(words)), OTHER)


def styles(names):
    """{name: (colour, marker, dash)}"""
    used, out = {}, {}
    for name in names:
        look = look_of(name)
        out[name] = *look, DASHES[used.get(look, 0) % len(DASHES)]
        used[look] = used.get(look, 0) + 1
    return out


def text(x, y, words, anchor="start", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{escape(words)}</text>'


def marker(kind, x, y, colour):
    if kind not in MARKERS:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>'
    corners = " ".join(f"{x + a:.1f},{y + b:.1f}" for a, b in MARKERS[kind])
    return f'<polygon points="{corners}" fill="{colour}"/>'


def line(x1, y1, x2, y2, colour="#ddd"):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def document(width, height, parts):
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'font-family="sans-serif" font-size="12">\n<rect width="{width:.0f}" height="{height:.0f}" fill="white"/>\n'
    )
    return head + "\n".join(parts) + "\n</svg>\n"


def recall_place(recall):
    """0 at the first tick, 1 at recall 1; every halving of the misses takes the same width."""
    least, most = (math.log(1 - r) for r in (RECALL_TICKS[0], RECALL_MOST))
    return (math.log(1 - min(recall, RECALL_MOST)) - least) / (most - least)


def log_ticks(least, most):
    """Powers of ten, with their two- and fivefold if those are few, from below least to above most."""
    for factors in ((1, 2, 5), (1,)):
        steps = [m * 10.0**e for e in range(-12, 9) for m in factors]
        first = max([s for s in steps if s <= least], default=steps[0])
        last = min([s for s in steps if s >= most], default=steps[-1])
        ticks = [s for s in steps if first <= s <= last]
        if len(ticks) <= MOST_TICKS:
            break
    return ticks


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


def spread_out(wanted, first, last):
    """Heights near those wanted, in their order, NAME_ROW apart and between first and last if there is room."""
    out = []
    for height in sorted(wanted):
        out.append(max(height, out[-1] + NAME_ROW if out else first))
    limit = last
    for i in range(len(out) - 1, -1, -1):
        out[i] = min(out[i], limit)
        limit = out[i] - NAME_ROW
    return out


def names_at_ends(ends, right, top, bottom):
    """ends: [(x, y, name, colour)]: the names in a column, each joined to where its line ends."""
    parts, ends = [], sorted(ends, key=lambda end: end[1])
    for (x, y, name, colour), height in zip(ends, spread_out([end[1] for end in ends], top, bottom)):
        path = f"{x:.1f},{y:.1f} {right + 6:.1f},{height:.1f} {right + 14:.1f},{height:.1f}"
        parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="0.7" opacity="0.6" points="{path}"/>')
        parts.append(text(right + 17, height + 4, name, more=f' fill="{colour}"'))
    return parts


def labels_at_points(wanted):
    """wanted: [(x, y, label, colour)]: labels above, below, or beside their points; one that has no room is left out."""

    def is_free(box):
        return not any(box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in taken)

    parts, taken = [], [(x - 4, y - 4, x + 4, y + 4) for x, y, *_ in wanted]
    for x, y, label, colour in wanted:
        half = len(label) * LABEL_WIDTH / 2
        places = [(x, y - 6), (x, y + 5 + LABEL_SIZE), (x + half + 6, y + 4), (x - half - 6, y + 4)]
        boxes = [(a - half, b - LABEL_SIZE, a + half, b) for a, b in places]
        place, box = next(((p, b) for p, b in zip(places, boxes) if is_free(b)), (None, None))
        if label and place:
            taken.append(box)
            parts.append(text(*place, label, "middle", f' font-size="{LABEL_SIZE}" fill="{colour}" {HALO}'))
    return parts


def panel(title, series, top, x_axis, y_axis, look):
    """One plot; series: (name, [point]). Points left of the first tick are not drawn."""
    bottom, right = top + HEIGHT, LEFT + PLOT

    def x(value):
        return LEFT + x_axis.place(value) * PLOT

    def y(value):
        return bottom - y_axis.place(value) * HEIGHT

    parts, ends, labels = [text(LEFT, top - 12, title)], [], []
    for tick in x_axis.ticks:
        parts += [line(x(tick), top, x(tick), bottom), text(x(tick), bottom + 18, f"{tick:g}", "middle")]
    for tick in y_axis.ticks:
        words = f"{tick:,.0f}" if tick >= 1000 else f"{tick:g}"
        parts += [line(LEFT, y(tick), right, y(tick)), text(LEFT - 6, y(tick) + 4, words, "end")]
    parts.append(text((LEFT + right) / 2, bottom + 38, x_axis.title, "middle"))
    for name, points in series:
        colour, kind, dash = look[name]
        shown = [(x(a), y(b), *label) for a, b, *label in points if a >= x_axis.ticks[0]]
        if not shown:
            continue
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b, *_ in shown)
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2"{dashed} points="{path}"/>')
        parts += [marker(kind, a, b, colour) for a, b, *_ in shown]
        labels += [(a, b, label[0] if label else "", colour) for a, b, *label in shown]
        ends.append((*max(shown)[:2], name, colour))
    return parts + labels_at_points(labels) + names_at_ends(ends, right, top, bottom)


def picture(title, panels):
    """panels: (title, series, x axis, y axis), one or more, one below the other."""
    look = styles(dict.fromkeys(name for _, series, *_ in panels for name, _ in series))
    parts, top = [text(LEFT, 26, title, more=' font-size="16"')], TOP
    for panel_title, series, x_axis, y_axis in panels:
        parts += panel(panel_title, series, top, x_axis, y_axis, look)
        top += HEIGHT + BETWEEN
    return document(LEFT + PLOT + NAMES, top - BETWEEN + 50, parts)


def curves(title, panels):
    """Queries per second against recall; panels: (title, [(name, [(recall, qps) or with a label])])."""
    made = []
    for words, series in panels:
        rates = [qps for _, points in series for recall, qps, *_ in points if recall >= RECALL_TICKS[0]] or [1, 10]
        made.append((words, series, recall_axis(), log_axis("", rates)))
    return picture(title, made)


def lines(title, x_title, y_title, series):
    """One plot on linear axes; series: [(name, [point])]."""
    points = [point for _, some in series for point in some] or [(0, 0)]
    x_axis = linear_axis(x_title, [0, *(point[0] for point in points)])
    y_axis = linear_axis("", [point[1] for point in points])
    return picture(title, [(y_title, series, x_axis, y_axis)])


def logarithmic(title, x_title, y_title, series):
    """One plot on logarithmic axes; numbers must be above 0."""
    points = [point for _, some in series for point in some] or [(1, 1)]
    x_axis, y_axis = (log_axis(name, [point[i] for point in points]) for i, name in enumerate((x_title, "")))
    return picture(title, [(y_title, series, x_axis, y_axis)])


def bars(title, groups, unit):
    """groups: (heading, [(name, value)]); horizontal bars, log scale."""
    values = [value for _, rows in groups for _, value in rows if value > 0] or [1, 10]
    ticks = [t for t in log_ticks(min(values), max(values) * 1.01) if f"{t:e}"[0] == "1"] or [min(values)]
    least = ticks[0] if ticks[0] < min(values) else ticks[0] / 10
    most = max(values) * 1.3
    left = 275

    def x(value):
        return left + math.log(value / least) / math.log(most / least) * BAR

    top, y, parts = 56, 56, []
    for heading, rows in groups:
        parts.append(text(12, y + 13, heading, more=' font-weight="bold"'))
        y += ROW + 2
        for name, value in rows:
            width = max(x(value) - left, 1)
            box = f'x="{left}" y="{y + 3}" width="{width:.1f}" height="{ROW - 5}"'
            parts += [text(left - 6, y + 13, name, "end"), f'<rect {box} fill="{look_of(name)[0]}"/>']
            parts.append(text(left + width + 5, y + 13, f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"))
            y += ROW
        y += 8
    grid = [line(x(t), top - 4, x(t), y) + text(x(t), y + 16, f"{t:g}", "middle") for t in ticks if least <= t <= most]
    head = [text(12, 26, title, more=' font-size="16"'), text(left + BAR / 2, y + 34, unit, "middle")]
    return document(left + BAR + 90, y + 46, head + grid + parts)
