# SPDX-License-Identifier: Apache-2.0
"""Requests and items as thresher/dual.h writes them, as arrays of rows of a model's tables, and batches of them.

All that does not change from epoch to epoch is computed once: shares of a field's words, which of a history's words an
ad hits, the gains of places. A batch is then put together by numpy, without a loop over requests.
"""

import numpy as np
from bench.tower.torch_steps import Distinct, Ragged, runs, spread

UNKNOWN = -1


def split_number(word):
    """A word without the number after its last colon, and the number, or 1."""
    text, colon, digits = word.rpartition(":")
    try:
        return (text, float(digits)) if colon else (word, 1.0)
    except ValueError:
        return word, 1.0


def field_of(word):
    return word.partition("=")[0]


def feature_of(word):
    """What a user's word hits; None of a word that is of no sequence."""
    sequence, dot, _ = field_of(word).partition(".")
    return word[len(sequence) + 1 :] if dot else None


class Vocabulary:
    """The words of a side, from a model's tensor: a word's place is its row. Fields are numbered as they come."""

    def __init__(self, tensor):
        words = tensor.tobytes().decode("utf-8", "surrogateescape").split("\n")[:-1]
        self.rows = {word: row for row, word in enumerate(words)}
        self.fields = {}
        self.field_of_row = np.array([self.fields.setdefault(field_of(w), len(self.fields)) for w in words])
        self.n_words, self.n_fields = len(words), len(self.fields)


class Bags:
    """Examples as bags of rows with weights, one bag for each field: example i has n_fields of them."""

    def __init__(self, lists, numbers, vocabulary):
        self.n_fields = vocabulary.n_fields
        n = np.array([len(rows) for rows in lists])
        rows = np.fromiter((row for rows in lists for row in rows), np.int64, int(n.sum()))
        x = np.fromiter((x for xs in numbers for x in xs), np.float32, len(rows))
        bag = np.repeat(np.arange(len(lists)), n)[rows != UNKNOWN] * self.n_fields
        x, rows = x[rows != UNKNOWN], rows[rows != UNKNOWN]
        bag += vocabulary.field_of_row[rows]
        order = np.argsort(bag, kind="stable")
        bag, x, rows = bag[order], x[order], rows[order]
        n_bags = len(lists) * self.n_fields
        self.lengths = np.bincount(bag, minlength=n_bags)
        self.starts = np.cumsum(self.lengths) - self.lengths
        whole = np.bincount(bag, weights=np.abs(x), minlength=n_bags)[bag].astype(np.float32)
        self.rows = rows
        self.weights = np.divide(x, whole, out=np.zeros_like(x), where=whole > 0)

    def take(self, examples):
        """{rows, weights, offsets} of the bags of those examples, as EmbeddingBag takes them."""
        bags = (examples[:, None] * self.n_fields + np.arange(self.n_fields)).ravel()
        lengths = self.lengths[bags]
        at = runs(self.starts[bags], lengths)
        return {"rows": self.rows[at], "weights": self.weights[at], "offsets": np.cumsum(lengths) - lengths}


def gains_of(levels):
    """Gains over the DCG of the best order (rank_loss.h), from the levels of requests of as many ads each."""
    n = levels.shape[1]
    worse = (levels[:, None, :] > levels[:, :, None]).sum(2)
    gains = np.exp2((worse - worse[:, :1]).astype(np.float64)) - np.exp2(-worse[:, :1].astype(np.float64))
    gains /= np.maximum(gains[:, :1], 1e-300)
    return (gains / np.maximum((gains * discounts(n)).sum(1, keepdims=True), 1e-300)).astype(np.float32)


def discounts(n):
    return 1 / np.log2(np.arange(n) + 2)


class Log:
    """A table of items and one of requests, over the words of a model."""

    def __init__(self, requests_path, items_path, tensors):
        self.users, self.ads = Vocabulary(tensors["query.words"]), Vocabulary(tensors["item.words"])
        self.features = {}  # words that items have, known to the model or not
        ids, words = {}, []
        with open(items_path, encoding="utf-8", errors="surrogateescape") as file:
            for line in file:
                name, text = line.rstrip("\n").split("\t")
                ids[name] = len(ids)
                words.append(list(dict.fromkeys(text.split())))
        rows = [[self.ads.rows.get(word, UNKNOWN) for word in item] for item in words]
        self.items = Bags(rows, [[1.0] * len(item) for item in words], self.ads)
        self.item_features = Ragged([[self.features.setdefault(w, len(self.features)) for w in item] for item in words])
        self.read_requests(requests_path, ids)

    def read_requests(self, path, ids):
        rows, numbers, ads, levels = [], [], [], []
        histories = []  # of each request (feature, row, field, x)
        known = {}  # user's word: (row, field, feature), looked up once
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            for line in file:
                text, shown = line.rstrip("\n").split("\t")
                words = [split_number(word) for word in text.split()]
                about = [known.get(word) or known.setdefault(word, self.look_up(word)) for word, _ in words]
                rows.append([row for row, _, _ in about])
                numbers.append([x for _, x in words])
                hits = ((f, row, field, x) for (row, field, f), (_, x) in zip(about, words))
                histories.append([hit for hit in hits if UNKNOWN not in (hit[0], hit[2])])
                shown = shown.split()
                levels.append(np.cumsum([0] + [word[0] != "~" for word in shown[1:]]))
                ads.append([ids[split_number(word.lstrip("~"))[0]] for word in shown])
        if len({len(shown) for shown in ads}) != 1:
            raise ValueError(f"{path}: all requests have to have as many ads")
        self.requests = Bags(rows, numbers, self.users)
        self.shown, self.levels = np.array(ads), np.array(levels)
        self.gains = gains_of(self.levels)
        self.history = Ragged([[entry[1] for entry in hits] for hits in histories])  # rows, UNKNOWN too
        flat = np.array([entry for hits in histories for entry in hits]).reshape(-1, 4)
        self.history_fields, self.history_x = flat[:, 2].astype(np.int64), flat[:, 3].astype(np.float32)
        self.match(flat[:, 0].astype(np.int64))

    def look_up(self, word):
        feature = feature_of(word)
        field = self.users.fields.get(field_of(word), UNKNOWN)
        return self.users.rows.get(word, UNKNOWN), field, self.features.get(feature, UNKNOWN)

    def match(self, features):
        """Of every request the pairs of an ad, by its place, and a history's word that it hits, by its number."""
        n_features, (n, n_ads) = len(self.features), self.shown.shape
        request = np.repeat(np.arange(n), np.diff(self.history.offsets))
        order = np.argsort(request * n_features + features, kind="stable")
        keys = (request * n_features + features)[order]
        words, lengths = self.item_features.take(self.shown.ravel())
        ad = np.repeat(np.arange(n * n_ads), lengths)
        wanted = ad // n_ads * n_features + words
        first, end = np.searchsorted(keys, wanted), np.searchsorted(keys, wanted, side="right")
        ad, place = np.repeat(ad, end - first), runs(first, end - first)
        self.match_offsets = np.searchsorted(ad, np.arange(n + 1) * n_ads)
        self.match_ads = ad % n_ads
        self.match_words = order[place] - self.history.offsets[ad // n_ads]


class Batches:
    """The input of a step, as arrays."""

    def __init__(self, log):
        self.log = log
        self.seen = Distinct(len(log.items.lengths) // log.items.n_fields)

    def make(self, numbers):
        log = self.log
        shown = log.shown[numbers]
        items, places = self.seen.of(shown.ravel())
        at, n_words = spread(log.history.offsets, numbers)
        rows = log.history.values[at]
        found, n_found = spread(log.match_offsets, numbers)
        request = np.repeat(np.arange(len(numbers)), n_found)
        words = log.match_words[found] + (np.cumsum(n_words) - n_words)[request]
        return {
            "users": log.requests.take(numbers),
            "items": log.items.take(items),
            "places": places.reshape(shown.shape),
            "gains": log.gains[numbers],
            # a history's word weighs its own row, where it has one, and its field's, which follow the words
            "hit_rows": np.where(rows == UNKNOWN, 0, rows),
            "hit_known": np.where(rows == UNKNOWN, 0, log.history_x[at]).astype(np.float32),
            "hit_fields": log.users.n_words + log.history_fields[at],
            "hit_x": log.history_x[at],
            "match_words": words,
            "match_ads": log.match_ads[found] + request * shown.shape[1],
        }
