# SPDX-License-Identifier: Apache-2.0
"""The steps that warps of 32 lanes take to count a beam's hits (WTA-LSH, figure 4), from a head's file (docs/format.md).

Nothing is timed: the spans of words that a beam's codes find are the data's, and their steps follow from their lengths.
"""

import struct
from pathlib import Path

import numpy as np

LANES, GOLDEN = 32, 0x9E3779B97F4A7C15
SECTIONS = {"hashes": 1, "order": 3, "slots": 4, "lists": 5}
SLOT = np.dtype([("band", "<u4"), ("code", "<u4"), ("first", "<u4"), ("n", "<u4")])


class Hashes:
    """The hashes of a head's file."""

    def __init__(self, path):
        data = Path(path).read_bytes()
        self.n_words, self.n_dims = struct.unpack_from("<II", data, 12)
        (n_sections,), (at,) = struct.unpack_from("<I", data, 32), struct.unpack_from("<Q", data, 40)
        found = {}
        for i in range(n_sections):
            kind, _, offset, size = struct.unpack_from("<IIQQ", data, at + 32 * i)
            found[kind] = data[offset : offset + size]
        part = {name: found.get(kind) for name, kind in SECTIONS.items()}
        self.n_places, self.n_bands, self.n_hashes, *_ = struct.unpack_from("<IIIIII", part["hashes"])
        (self.seed,) = struct.unpack_from("<Q", part["hashes"], 24)
        slots = np.frombuffer(part["slots"], SLOT).tolist()
        self.spans = {(band, code): (first, n) for band, code, first, n in slots if n > 0}
        self.lists = np.frombuffer(part["lists"], "<u4")
        self.order = np.frombuffer(part["order"], "<u4") if part["order"] else np.arange(self.n_words)
        self.permutations = self.draw()

    def draw(self):
        state, mask, dims, out = self.seed, 2**64 - 1, list(range(self.n_dims)), []
        for _ in range(self.n_bands * self.n_hashes):
            for j in range(self.n_places):
                state = (state + GOLDEN) & mask
                z = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & mask
                z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
                other = j + ((z ^ z >> 31) * (self.n_dims - j) >> 64)
                dims[j], dims[other] = dims[other], dims[j]
            out.append(dims[: self.n_places])
        return np.array(out)

    def codes(self, states):
        """[states, bands]"""
        bits = (self.n_places - 1).bit_length()
        winners = states[:, self.permutations].argmax(axis=2).reshape(len(states), self.n_bands, self.n_hashes)
        return (winners << np.arange(bits * (self.n_hashes - 1), -1, -bits)).sum(axis=2)

    def spans_of(self, states):
        """[states x bands, 2]: where each code's words begin in the lists, and how many there are."""
        codes = self.codes(states)
        return np.array([self.spans.get((band, int(code)), (0, 0)) for row in codes for band, code in enumerate(row)])

    def candidates(self, states, threshold, n_frequent):
        """How many words a beam keeps by this count, which must be the library's."""
        marked, spans = np.zeros(self.n_words, bool), self.spans_of(states).reshape(len(states), self.n_bands, 2)
        marked[self.order[:n_frequent]] = True
        for own in spans:
            hits = np.concatenate([self.lists[first : first + n] for first, n in own])
            marked |= np.bincount(hits, minlength=self.n_words) >= threshold
        return int(marked.sum())


def steps(lengths, n_lanes=LANES):
    """[naive, published, ours]: steps of all warps, each of which looks a code a lane up."""
    warps = np.pad(lengths, (0, -len(lengths) % n_lanes)).reshape(-1, n_lanes)
    return [int(n.sum()) for n in (warps.max(axis=1), -(-warps // n_lanes), -(-warps.sum(axis=1) // n_lanes))]


def count(path, opened, states, beam, threshold, n_frequent):
    """({way: steps per beam of a look-up}, {way: bytes read to list a beam's candidates}) of a head's file.

    It is opened by the library, too, whose candidates are compared with those counted here.
    """
    hashes = Hashes(path)
    beams = [states[first : first + beam] for first in range(0, len(states) - beam + 1, beam)]
    first, found = beams[0], [steps(hashes.spans_of(own)[:, 1]) for own in beams]
    theirs = opened.measure(first, beam, screen="wta", group=beam, threshold=threshold, n_frequent=n_frequent).candidates
    ours = hashes.candidates(first, threshold, n_frequent)
    if ours != round(theirs):
        raise ValueError(f"{path}: {ours} candidates are counted, {theirs:g} chosen")
    ways = "naive", "published", "ours"  # each lane its own span; a warp one span after another; all of a warp's as one
    n_bytes = {"copy_if": 4 * hashes.n_words, "marks": -(-hashes.n_words // 32) * 4}
    return dict(zip(ways, np.mean(found, axis=0).tolist())), n_bytes
