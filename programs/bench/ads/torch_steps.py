# SPDX-License-Identifier: Apache-2.0
"""The model of `thresher tower train --kind dual` in PyTorch, trained on one thread: how many requests per second?

The same model: fields pooled by weighted bags, two dense layers, IPNN's projections, a weight for what a history hits,
LambdaRank's pairs weighed by what NDCG changes by, Adam for dense layers and FTRL-Proximal for rows and hits. It is
checked to be the same: from the same weights it computes the loss that Thresher reports, and takes the same step.
Several ways to write it are timed; the fastest is reported as PyTorch's speed.
"""

from dataclasses import dataclass

import numpy as np
from bench.ads.log import Batches, discounts
from bench.shared.way import Named, time_steps

SIDES = ("query", "item")
PARTS = ("hidden.weight", "hidden.bias", "output.weight", "output.bias", "product.weight")  # tensors of a side


@dataclass(frozen=True)
class Way(Named):
    """How PyTorch trains, by the words of a row:

    - *distinct*: an ad is computed once per batch; *each*: once per request.
    - *dense*: EmbeddingBag has a gradient as large as the table, and every row takes a step; *rows*: a batch's rows are
      copied out, and only they take a step; *sparse*: EmbeddingBag(sparse=True).
    - *triangle*: each pair of a request once; *square*: every ad beside every other, and half of the square is masked;
      *best*: the best ad beside the others, where these are all tied.
    - *bags*: EmbeddingBag over the words of a history that an ad hits; *sums*: these words are weighed once per request
      and added up by index_add.
    - *compiled*: loss and FTRL go through torch.compile.
    - *memory kept*: glibc returns no memory to the system after a step.
    """

    ads: str = "distinct"
    tables: str = "dense"
    pairs: str = "triangle"
    hits: str = "sums"
    compiled: bool = False
    keep_memory: bool = True


@dataclass(frozen=True)
class Rates:
    """Of Adam and FTRL, as in thresher/dual.h; Adam's do not fall here, which takes no time. The batch scales FTRL."""

    dense: float = 0.002
    tables: float = 0.1
    hits: float = 0.05
    batch: int = 4000


def define(torch):
    """The classes, once PyTorch is there."""
    embedding_bag = torch.nn.functional.embedding_bag

    def ftrl(w, z, n, gradient, alpha, scale):
        """FTRL-Proximal with beta 1, l1 and l2 0, in place."""
        g = gradient * scale
        after = n + g * g
        root = after.sqrt()
        z += g - (root - n.sqrt()) / alpha * w
        n.copy_(after)
        w.copy_(-z / ((1 + root) / alpha))

    def rank_loss(scores, gains, levels, discounts, pairs):
        """HitMatch (2), a request's mean; the first of equal scores ranks before the others."""
        with torch.no_grad():
            order = scores.argsort(dim=1, descending=True, stable=True)
            places = torch.empty_like(scores).scatter_(1, order, discounts.expand_as(scores))
        if pairs == "best":
            apart = scores[:, :1] - scores[:, 1:]
            weights = (gains[:, :1] - gains[:, 1:]).abs() * (places[:, :1] - places[:, 1:]).abs()
        elif pairs == "square":
            apart = scores[:, :, None] - scores[:, None, :]
            weights = (gains[:, :, None] - gains[:, None, :]).abs() * (places[:, :, None] - places[:, None, :]).abs()
            weights = weights * (levels[:, :, None] < levels[:, None, :])
        else:
            i, j = torch.triu_indices(scores.shape[1], scores.shape[1], 1)
            apart = scores[:, i] - scores[:, j]
            weights = (gains[:, i] - gains[:, j]).abs() * (places[:, i] - places[:, j]).abs()
            weights = weights * (levels[:, i] < levels[:, j])
        return (torch.nn.functional.softplus(-apart) * weights).sum() / len(scores)

    class Side(torch.nn.Module):
        """From pooled embeddings to a vector."""

        def __init__(self, tensors, side):
            super().__init__()
            made = [torch.nn.Parameter(torch.tensor(tensors[f"{side}.{name}"])) for name in PARTS]
            self.parts = torch.nn.ParameterList(made)

        def forward(self, pooled):
            hidden, hidden_bias, output, output_bias, product = self.parts
            activation = torch.tanh(torch.addmm(hidden_bias, pooled, hidden))
            return torch.cat((torch.addmm(output_bias, activation, output), pooled @ product), dim=1)

    class Trainer:
        """One way to write the training: see WAYS."""

        def __init__(self, tensors, way, rates):
            self.way, self.rates = way, rates
            self.tables = [torch.tensor(tensors[f"{side}.embeddings"]) for side in SIDES]
            self.hits = torch.tensor(np.concatenate([tensors["hits.words"], tensors["hits.fields"]]))
            self.sides = [Side(tensors, side) for side in SIDES]
            self.adam = torch.optim.Adam([p for s in self.sides for p in s.parameters()], lr=rates.dense, fused=True)
            alphas = (rates.tables, rates.tables, rates.hits)
            self.slots = [(-w / alpha, torch.zeros_like(w)) for w, alpha in zip((*self.tables, self.hits), alphas)]
            self.hits.requires_grad_()
            if way.tables != "rows":
                for table in self.tables:
                    table.requires_grad_()
            self.ftrl = torch.compile(ftrl) if way.compiled else ftrl
            self.compute = torch.compile(self.loss_of, dynamic=True) if way.compiled else self.loss_of

        def pool(self, table, bags):
            weights, sparse = bags["weights"], self.way.tables == "sparse"
            return embedding_bag(bags["rows"], table, bags["offsets"], mode="sum", per_sample_weights=weights, sparse=sparse)

        def add_hits(self, hits, b):
            n = b["places"].numel()
            if self.way.hits == "bags":
                words = b["match_words"]
                ends = torch.searchsorted(b["match_ads"], torch.arange(n))
                own, fields = [
                    embedding_bag(b[rows][words], hits[:, None], ends, mode="sum", per_sample_weights=b[weights][words])
                    for rows, weights in (("hit_rows", "hit_known"), ("hit_fields", "hit_x"))
                ]
                return (own + fields).view_as(b["places"])
            weights = hits[b["hit_rows"]] * b["hit_known"] + hits[b["hit_fields"]] * b["hit_x"]
            return torch.zeros(n).index_add(0, b["match_ads"], weights[b["match_words"]]).view_as(b["places"])

        def loss_of(self, tables, hits, b):
            users, items = [side(self.pool(table, bags).view(-1, side.parts[0].shape[0]))
                            for side, table, bags in zip(self.sides, tables, (b["users"], b["items"]))]  # fmt: skip
            shown = items.index_select(0, b["places"].view(-1)).view(len(users), -1, users.shape[1])
            scores = torch.bmm(shown, users[:, :, None])[:, :, 0] + self.add_hits(hits, b)
            return rank_loss(scores, b["gains"], b["levels"], b["discounts"], self.way.pairs)

        def prepare(self, batch):
            """The batch's arrays as tensors, and the rows of its tables where these are copied out."""

            def tensors(part):
                return {k: tensors(v) if isinstance(v, dict) else torch.from_numpy(v) for k, v in part.items()}

            made = tensors(batch)
            made["discounts"] = torch.from_numpy(discounts(batch["gains"].shape[1]).astype(np.float32))
            if self.way.tables != "rows":
                return self.tables, [None, None], made
            rows, own = [], []
            for table, bags in zip(self.tables, (made["users"], made["items"])):
                there = torch.zeros(len(table), dtype=torch.bool)
                there[bags["rows"]] = True
                rows.append(there.nonzero()[:, 0])
                place = torch.empty(len(table), dtype=torch.long)
                place[rows[-1]] = torch.arange(len(rows[-1]))
                bags["rows"] = place[bags["rows"]]
                own.append(table.index_select(0, rows[-1]).requires_grad_())
            return own, rows, made

        def weights(self):
            """What a model's file holds, by name."""
            n_words = len(self.tables[0])
            made = {f"{side}.embeddings": table for side, table in zip(SIDES, self.tables)}
            made |= {"hits.words": self.hits[:n_words], "hits.fields": self.hits[n_words:]}
            for side, layers in zip(SIDES, self.sides):
                made |= {f"{side}.{name}": part for name, part in zip(PARTS, layers.parts)}
            return {name: tensor.detach().numpy() for name, tensor in made.items()}

        @torch.no_grad()
        def step_table(self, table, slots, own, rows):
            alpha, scale = self.rates.tables, float(self.rates.batch)
            gradient = own.grad
            if gradient.is_sparse:
                gradient = gradient.coalesce()
                rows, gradient = gradient.indices()[0], gradient.values()
            if rows is None:
                self.ftrl(table, *slots, gradient, alpha, scale)
                return
            parts = [whole.index_select(0, rows) for whole in (table, *slots)]
            self.ftrl(*parts, gradient, alpha, scale)
            for whole, part in zip((table, *slots), parts):
                whole.index_copy_(0, rows, part)

        def step(self, batch):
            own, rows, made = self.prepare(batch)
            for tensor in (*self.tables, self.hits):
                tensor.grad = None
            self.adam.zero_grad(set_to_none=True)
            loss = self.compute(own, self.hits, made)
            loss.backward()
            self.adam.step()
            for table, slots, taken, numbers in zip(self.tables, self.slots, own, rows):
                self.step_table(table, slots, taken, numbers)
            with torch.no_grad():
                self.ftrl(self.hits, *self.slots[2], self.hits.grad, self.rates.hits, float(self.rates.batch))
            return float(loss.detach())

    return Trainer


def time_way(torch, tensors, log, way, rates, budget):
    """Requests per second of one way, and the share of it that making batches took.

    Steps are made for `budget` seconds. The speed is that of the fastest run of as many steps as an epoch has; Thresher's
    is that of its fastest epoch.
    """
    trainer = define(torch)(tensors, way, rates)
    batches, n = Batches(log, way.ads == "distinct"), len(log.shown)
    steps, make_share = time_steps(batches.make, trainer.step, n, rates.batch, budget)
    of_epoch = min(len(steps), n // rates.batch)
    seconds = float(np.convolve(steps, np.ones(of_epoch), "valid").min())
    return {"requests_per_s": rates.batch * of_epoch / seconds, "make_share": make_share}
