#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make a log of ad requests from public data: what a user bought next, among sampled ads.

    make_log.py DATA Beauty OUT [--seed N] [--ads N]

DATA holds `amazon_s3rec` (time-ordered histories of users, and items' attributes: Beauty, Sports_and_Outdoors,
Toys_and_Games) and `ipinyou` (histograms of the prices that impressions were sold for, of nine advertisers).

OUT gets items.tsv, train.tsv, valid.tsv and test.tsv, as thresher/dual.h describes them. No obtainable log has
histories, ads and bids together, so part of this one is made up. What is real: who bought what, in which order; items'
brands, taken for advertisers, and categories. What is not:

  bids        are DRAWN, not observed: every brand is given one of the nine price histograms, and every item a bid from
              its brand's. They do not depend on users. Values are these bids.
  requests    there is one for every purchase but a user's first: its best ad is what was bought.
  other ads   are SAMPLED, not shown: half of them by how often they were bought in training, half uniformly, none that
              the user has by then. None of them is known to be better, so all are equal, below the best.

A user's last purchase is for the test, the one before it for validation, all others for training: no test purchase is
part of any training request, neither as a best ad nor in a history. The times of different users are not comparable in
this data, so a training request of one may be later than another's test. Histories hold what was bought before the
request, counted: click.item, click.category, click.brand; and last.*, of the last purchase alone.
"""

import argparse
import bisect
import collections
import itertools
import json
import lzma
import os
import random

HISTORY_MOST = 50  # purchases of a history that count: the last ones
ADVERTISERS = ("1458", "2259", "2261", "2821", "2997", "3358", "3386", "3427", "3476")


class Drawing:
    """Numbers drawn by given weights."""

    def __init__(self, weights):
        self.sums = list(itertools.accumulate(weights))

    def draw(self, rng):
        return bisect.bisect_right(self.sums, rng.random() * self.sums[-1])


def read_histories(data, name):
    with lzma.open(os.path.join(data, "amazon_s3rec", name + ".txt.xz"), "rt") as file:
        return [[int(word) for word in line.split()[1:]] for line in file]


def read_attributes(data, name):
    """Of every item its brand, or None, and its categories.

    The source lists a brand first, where there is one, and then categories from above down. An attribute that follows
    another one anywhere is a category.
    """
    with lzma.open(os.path.join(data, "amazon_s3rec", name + "_item2attributes.json.xz"), "rt") as file:
        lists = {int(item): attributes for item, attributes in json.load(file).items()}
    categories = {attribute for attributes in lists.values() for attribute in attributes[1:]}
    items = {}
    for item, attributes in lists.items():
        has_brand = bool(attributes) and attributes[0] not in categories
        items[item] = (attributes[0] if has_brand else None, attributes[1:] if has_brand else attributes)
    return items


def draw_bids(data, items, rng):
    prices = []
    for advertiser in ADVERTISERS:
        with open(os.path.join(data, "ipinyou", f"rlb.{advertiser}.info.json")) as file:
            prices.append(Drawing(json.load(file)["price_counter_train"]))
    of_brand = collections.defaultdict(lambda: rng.choice(prices))
    return {item: (rng.choice(prices) if brand is None else of_brand[brand]).draw(rng)
            for item, (brand, _) in sorted(items.items())}


def item_words(item, items):
    brand, categories = items[item]
    words = [f"item={item}"] + [f"category={category}" for category in dict.fromkeys(categories)]
    return words + ([f"brand={brand}"] if brand is not None else [])


def user_words(history, items):
    """Of what was bought before, with counts; and how much it is, in powers of two."""
    counts = collections.Counter(word for item in history[-HISTORY_MOST:] for word in item_words(item, items))
    words = [f"bought={len(history).bit_length()}"]
    words += [f"click.{word}:{count}" for word, count in sorted(counts.items())]
    return words + [f"last.{word}:1" for word in item_words(history[-1], items)]


class Sampler:
    """Ads that a user does not have: the first half by popularity, the rest uniformly."""

    def __init__(self, popularity, n_ads):
        self.items = sorted(popularity)
        self.popular = Drawing([popularity[item] for item in self.items])
        self.n_ads = n_ads

    def sample(self, best, history, rng):
        had = set(history) | {best}
        ads = []
        while len(ads) < self.n_ads - 1:
            by_popularity = len(ads) < (self.n_ads - 1) // 2
            item = self.items[self.popular.draw(rng)] if by_popularity else rng.choice(self.items)
            if item not in had:
                had.add(item)
                ads.append(item)
        return ads


def write_requests(path, requests, items, bids, sampler, rng):
    with open(path, "w") as file:
        for history, best in requests:
            ads = sampler.sample(best, history, rng)
            tied = [f"~{ad}:{bids[ad]}" if place else f"{ad}:{bids[ad]}" for place, ad in enumerate(ads)]
            file.write(" ".join(user_words(history, items)) + "\t" + " ".join([f"{best}:{bids[best]}"] + tied) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("data", help="the directory with amazon_s3rec and ipinyou")
    parser.add_argument("name", choices=["Beauty", "Sports_and_Outdoors", "Toys_and_Games"])
    parser.add_argument("out", help="a directory")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ads", type=int, default=30, help="of a request (default: 30)")
    given = parser.parse_args()

    rng = random.Random(f"{given.name} {given.seed}")
    histories = read_histories(given.data, given.name)
    items = read_attributes(given.data, given.name)
    for item in {item for history in histories for item in history} - items.keys():
        items[item] = (None, [])
    bids = draw_bids(given.data, items, rng)
    bought = collections.Counter({item: 0 for item in items})
    for history in histories:
        bought.update(history[:-2])
    sampler = Sampler(bought, given.ads)

    os.makedirs(given.out, exist_ok=True)
    with open(os.path.join(given.out, "items.tsv"), "w") as file:
        for item in sorted(items):
            file.write(f"{item}\t{' '.join(item_words(item, items))}\n")
    splits = {
        "train": [(history[:n], history[n]) for history in histories for n in range(1, len(history) - 2)],
        "valid": [(history[:-2], history[-2]) for history in histories if len(history) > 2],
        "test": [(history[:-1], history[-1]) for history in histories if len(history) > 2],
    }
    for name, requests in splits.items():
        write_requests(os.path.join(given.out, name + ".tsv"), requests, items, bids, sampler, rng)
        print(f"{name}: {len(requests)} requests")


if __name__ == "__main__":
    main()
