# SPDX-License-Identifier: Apache-2.0
"""Choosing among measured settings: the fastest at a recall, the Pareto front of recall and speed; their names."""


def fastest(points, recall, speed="qps", least_bytes=0):
    """The fastest point that reaches the recall with an index of at least least_bytes per item; None if none does."""
    good = [p for p in points if p["recall"] >= recall and p["bytes_per_item"] >= least_bytes]
    return max(good, key=lambda p: p[speed], default=None)


def front(points, speed):
    """(recall, speed) of the points that no other beats in both, by falling speed and rising recall."""
    out = []
    for point in sorted(points, key=lambda p: (-p[speed], -p["recall"])):
        if not out or point["recall"] > out[-1][0]:
            out.append((point["recall"], point[speed]))
    return out


def setting_name(point):
    words = []
    for key, value in {**point["variant"], **point["setting"]}.items():
        if value is True:
            words.append(key.upper())
        elif value is not False:
            words.append(f"{key} {value}")
    return ", ".join(words) or "-"


def points_of(kept):
    """The points of a data set's peers, each with its peer's name, title and family."""
    out = []
    for name, peer in kept.items():
        about = {"peer": name, "title": peer.get("title"), "family": peer.get("family")}
        out += [{**about, **point} for point in peer.get("points", [])]
    return out
