# SPDX-License-Identifier: Apache-2.0
"""The model of `thresher tower train` in PyTorch, trained on one thread: how many examples per second?

The same model: CDSSM's windows over letter trigrams, max-pooling, RBE's binary layers with the straight-through
variant, the cosine soft-max over in-batch negatives, Adam that leaves rows of trigrams alone that a batch does not
have. It is checked to be the same: from the weights of a model's file it computes the loss that `thresher tower eval`
does.

A batch's rows of trigrams are copied out, EmbeddingBag runs over them with a dense gradient, and fused Adam steps them:
that gives the same weights as SparseAdam, and is faster, as are segment_reduce than padding and bags of three rows than
sums of three gathered arrays.
"""

import re
from collections import Counter

import numpy as np
from bench.shared.common import read_safetensors
from bench.shared.way import time_steps

GRAM_EDGE = ord("#")
MOST_LETTERS = 64
WORD = re.compile(r"[^\W_]+")  # for texts of ASCII the words that Thresher finds


# ---------------------------------------------------------------------------------------------------- texts


def words_of(text):
    return [word[:MOST_LETTERS] for word in WORD.findall(text.lower())]


def grams_of(word):
    """The keys of a word's letter trigrams: three code points of 21 bits, # at both ends."""
    points = [GRAM_EDGE, *map(ord, word), GRAM_EDGE]
    return [a << 42 | b << 21 | c for a, b, c in zip(points, points[1:], points[2:])]


def runs(first, lengths):
    """The numbers first[i], first[i] + 1, ... of each i, lengths[i] of them, concatenated."""
    ends = np.cumsum(lengths)
    return np.repeat(first - ends + lengths, lengths) + np.arange(ends[-1])


class Ragged:
    """Lists of numbers, concatenated: list i is values[offsets[i]:offsets[i + 1]]."""

    def __init__(self, lists):
        self.offsets = np.concatenate([[0], np.cumsum([len(x) for x in lists], dtype=np.int64)])
        self.values = np.fromiter((v for x in lists for v in x), dtype=np.int64, count=int(self.offsets[-1]))

    def take(self, rows):
        """(values of those lists, how many each has)"""
        at, lengths = spread(self.offsets, rows)
        return self.values[at], lengths


def spread(offsets, chosen):
    """Where the chosen lists' values are, and how many each has."""
    lengths = offsets[chosen + 1] - offsets[chosen]
    return runs(offsets[chosen], lengths), lengths


class Distinct:
    """Distinct numbers of a list and the index of each among them, without sorting."""

    def __init__(self, n):
        self.there = np.zeros(n, dtype=bool)
        self.place = np.zeros(n, dtype=np.int64)

    def of(self, values):
        self.there[values] = True
        found = np.flatnonzero(self.there)
        self.there[found] = False
        self.place[found] = np.arange(len(found))
        return found, self.place[values]


class Texts:
    """Both sides of pairs as words, and words as rows of a table of trigrams."""

    def __init__(self, pairs, keys=None, most_grams=49292, most_words=128):
        lexicon, counts, self.sides = {}, Counter(), []
        for side in (0, 1):
            texts = [words_of(pair[side])[:most_words] for pair in pairs]
            self.sides.append(Ragged([[lexicon.setdefault(word, len(lexicon)) for word in words] for words in texts]))
            counts.update(word for words in texts for word in words)
        self.n_words = len(lexicon)
        row = {key: i for i, key in enumerate(frequent_grams(counts, most_grams) if keys is None else keys)}
        self.n_grams = len(row)
        self.grams = Ragged([[row[g] for g in grams_of(word) if g in row] for word in lexicon])


def frequent_grams(counts, most):
    grams = Counter()
    for word, count in counts.items():
        for gram in grams_of(word):
            grams[gram] += count
    return sorted(grams, key=lambda g: (-grams[g], g))[:most]


class Batches:
    """The input of a step: numbers in arrays, made anew for every batch, words left out by chance."""

    def __init__(self, texts, shared_words, seed=1):
        self.texts, self.shared = texts, shared_words
        self.rng = np.random.default_rng(seed)
        self.words, self.rows = Distinct(texts.n_words), Distinct(texts.n_grams)

    def side(self, side, numbers, dropout):
        words, lengths = self.texts.sides[side].take(numbers)
        if dropout > 0:
            ends = np.cumsum(lengths)
            keep = self.rng.random(len(words), dtype=np.float32) >= dropout
            kept = np.add.reduceat(keep, ends - lengths, dtype=np.int64)
            keep[ends[kept == 0] - 1] = True  # a text keeps one word at least
            words, lengths = words[keep], np.maximum(kept, 1)
        return words, lengths

    def table(self, words):
        """Distinct words with their rows of trigrams, among the distinct rows; and where each word is among them."""
        distinct, places = self.words.of(words)
        grams, lengths = self.texts.grams.take(distinct)
        rows, row_places = self.rows.of(grams)
        starts = np.append(np.cumsum(lengths) - lengths, len(grams))  # and one empty bag, the zeros of no word
        return {"rows": rows, "grams": row_places, "starts": starts}, places

    def make(self, numbers, dropout):
        sides = [self.side(side, numbers, dropout) for side in (0, 1)]
        if self.shared:
            table, places = self.table(np.concatenate([words for words, _ in sides]))
            tables, places = [table], np.split(places, [len(sides[0][0])])
        else:
            tables, places = zip(*(self.table(words) for words, _ in sides))
        return tables, list(zip(places, (lengths for _, lengths in sides)))


# ---------------------------------------------------------------------------------------------------- the model


class Config:
    def __init__(self, about):
        self.n_pooled, self.n_dims = int(about["n_pooled"]), int(about["n_dims"])
        self.bits = int(about["query_bits"]), int(about["item_bits"])
        self.shared_words = about["shared_words"] != "0"
        if about["shared_steps"] != "0" or about["plain_weights"] != "0" or 32 in self.bits:
            raise ValueError("only binary codes with steps of their own are written here")


def define(torch):
    """The classes that need torch, which is imported only where it is wanted."""

    embedding_bag = torch.nn.functional.embedding_bag

    class Sign(torch.autograd.Function):
        """+1 where x > 0, else -1; the gradient passes where |x| <= 1."""

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return torch.where(x > 0, 1.0, -1.0)

        @staticmethod
        def backward(ctx, gradient):
            (x,) = ctx.saved_tensors
            return torch.where(x.abs() <= 1, gradient, 0.0)

    class Side(torch.nn.Module):
        """From the pooled vector to the sum of planes."""

        def __init__(self, config, bits, tensors, prefix):
            super().__init__()

            def part(name):
                return torch.nn.Parameter(torch.tensor(tensors[f"{prefix}.{name}"]))

            self.pool_bias = part("pool.bias")
            self.base = torch.nn.ParameterList([part("base.weight"), part("base.bias")])
            layers = [f"{layer}{t}" for t in range(1, bits) for layer in ("rebuild", "residual")]
            self.steps = torch.nn.ParameterList([part(f"{l}.{kind}") for l in layers for kind in ("weight", "bias")])

        def forward(self, pooled):
            f = torch.tanh(pooled + self.pool_bias)
            e = Sign.apply(torch.addmm(self.base[1], f, self.base[0]))
            for t in range(0, len(self.steps), 4):
                b, b_bias, r, r_bias = self.steps[t : t + 4]
                residual = f - torch.tanh(torch.addmm(b_bias, e, b))
                e = e + 0.5 ** (t // 4 + 1) * Sign.apply(torch.addmm(r_bias, residual, r))
            return e

    def match_loss(queries, items, gamma, negatives):
        q, k = (torch.nn.functional.normalize(x, dim=1) for x in (queries, items))
        n = len(q)
        cosines = torch.mm(q, k.T)
        if negatives == n - 1:  # all others: their order does not matter
            return torch.nn.functional.cross_entropy(gamma * cosines, torch.arange(n))
        others = (torch.arange(n)[:, None] + torch.arange(negatives + 1)[None]) % n  # the pair, then the next ones
        cosines = cosines.gather(1, others)  # faster than so many products of a row each
        return torch.nn.functional.cross_entropy(gamma * cosines, torch.zeros(n, dtype=torch.long))

    def windows_of(vectors, places, lengths, n_pooled):
        """Every word's window: what it and its neighbours add. The last vector is of no word."""
        ends = torch.cumsum(lengths, 0)
        before, after = torch.roll(places, 1), torch.roll(places, -1)
        before[ends - lengths] = after[ends - 1] = len(vectors) - 1
        three = torch.stack((3 * before, 3 * places + 1, 3 * after + 2), dim=1)
        return embedding_bag(three, vectors.view(-1, n_pooled), mode="sum")

    class Trainer:
        def __init__(self, tensors, config, compiled=False, gamma=10.0, negatives=10, rate=0.001):
            self.config, self.gamma, self.negatives, self.rate = config, gamma, negatives, rate
            names = ["words"] if config.shared_words else ["query.words", "item.words"]
            self.tables = [torch.nn.Parameter(torch.tensor(tensors[name])) for name in names]
            self.sides = [Side(config, bits, tensors, side) for bits, side in zip(config.bits, ("query", "item"))]
            self.adam = torch.optim.Adam([p for side in self.sides for p in side.parameters()], lr=rate, fused=True)
            self.moments = [(torch.zeros_like(t), torch.zeros_like(t)) for t in self.tables]
            self.n_steps = 0
            self.head = torch.compile(self.embed_and_lose) if compiled else self.embed_and_lose

        def embed_and_lose(self, query_pooled, item_pooled):
            return match_loss(self.sides[0](query_pooled), self.sides[1](item_pooled), self.gamma, self.negatives)

        def loss(self, batch):
            made, sides = batch
            vectors, self.taken = [], []
            for table, arrays in zip(self.tables, made):
                rows, grams, starts = (torch.from_numpy(arrays[name]) for name in ("rows", "grams", "starts"))
                own = table.detach().index_select(0, rows).requires_grad_()
                self.taken.append((rows, own))
                vectors.append(embedding_bag(grams, own, starts, mode="sum"))
            pooled = []
            for i, (places, lengths) in enumerate(sides):
                of, lengths = vectors[0 if len(vectors) == 1 else i], torch.from_numpy(lengths)
                windows = windows_of(of, torch.from_numpy(places), lengths, self.config.n_pooled)
                pooled.append(torch.segment_reduce(windows, "max", lengths=lengths, unsafe=True))
            return self.head(*pooled)

        def step_rows(self):
            step = [torch.tensor(float(self.n_steps))]
            for table, (m, v), (rows, own) in zip(self.tables, self.moments, self.taken):
                weights, moment, square = own.detach(), m.index_select(0, rows), v.index_select(0, rows)
                torch._fused_adam_(
                    [weights], [own.grad], [moment], [square], [], step, amsgrad=False, lr=self.rate, beta1=0.9,
                    beta2=0.999, weight_decay=0.0, eps=1e-8, maximize=False,
                )  # fmt: skip
                for whole, part in ((table.detach(), weights), (m, moment), (v, square)):
                    whole.index_copy_(0, rows, part)

        def step(self, batch):
            self.n_steps += 1
            loss = self.loss(batch)
            self.adam.zero_grad(set_to_none=True)
            loss.backward()
            self.adam.step()
            self.step_rows()
            return float(loss.detach())

    return Trainer


# ---------------------------------------------------------------------------------------------------- measuring


def made(torch, model_path, pairs, **options):
    """(trainer, batches) of pairs, from the weights of a model's file."""
    tensors, about = read_safetensors(model_path)
    config, texts = Config(about), Texts(pairs, keys=tensors["grams"].tolist())
    return define(torch)(tensors, config, **options), Batches(texts, config.shared_words)


def loss_of_batch(torch, model_path, pairs):
    """The loss of the pairs, as one batch; words are not left out."""
    trainer, batches = made(torch, model_path, pairs)
    with torch.no_grad():
        return float(trainer.loss(batches.make(np.arange(len(pairs)), 0)))


def time_way(torch, model_path, pairs, batch_size, negatives, dropout, compiled, seconds):
    """Examples per second, and the share of it that making batches took. The time does not depend on the weights."""
    trainer, batches = made(torch, model_path, pairs, negatives=negatives, compiled=compiled)
    make = lambda numbers: batches.make(numbers, dropout)  # noqa: E731
    steps, make_share = time_steps(make, trainer.step, len(pairs), batch_size, seconds)
    return {"examples_per_s": batch_size / float(steps.mean()), "make_share": make_share}
