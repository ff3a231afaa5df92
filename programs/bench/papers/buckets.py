# SPDX-License-Identifier: Apache-2.0
"""
RBE, appendix B: what a search that keeps only the best item of every bucket misses of the wanted best ones.

Items are assigned to buckets of equal size at random, the last one has the remainder. Equation (16) sums over the ways
to spread the wanted items over buckets. The same distribution follows from placing them one at a time: when n of them
occupy m of T buckets of I items, of C in all, the next one falls into a new bucket with probability
I (T - m) / (C - n), and otherwise one more is missed.
"""

import math

import numpy as np


def miss(n_items, n_wanted, bucket_items, at_most):
    """The probability that at most `at_most` of the best n_wanted are missed. Buckets are full."""
    if n_items % bucket_items != 0:
        raise ValueError(f"{n_items} items do not fill buckets of {bucket_items}")
    missed, n_buckets = np.arange(min(at_most, n_wanted - 1) + 1), n_items // bucket_items
    chance = np.where(missed == 0, 1.0, 0.0)
    for n in range(n_wanted):
        occupied = np.maximum(n - missed, 0)
        again = chance * (occupied * bucket_items - n) / (n_items - n)
        chance = chance * bucket_items * (n_buckets - occupied) / (n_items - n)
        chance[1:] += again[:-1]
    return float(chance.sum())


def recall(n_items, n_wanted, bucket_items):
    """The expected share of the best n_wanted that are found: the number of buckets that contain one of them."""

    def any_in(items):  # 1 - binom(C - I, N) / binom(C, N)
        if n_wanted + items > n_items:
            return 1.0
        i = np.arange(min(n_wanted, items))
        return -math.expm1(sum(np.log1p(-max(n_wanted, items) / (n_items - i))))

    n_full, rest = divmod(n_items, bucket_items)
    return (n_full * any_in(bucket_items) + (any_in(rest) if rest else 0)) / n_wanted
