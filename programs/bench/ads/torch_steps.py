# SPDX-License-Identifier: Apache-2.0
"""The model of `thresher tower train --kind dual` in PyTorch, trained on one thread: how many requests per second?

The same model: fields pooled by weighted bags, two dense layers, IPNN's projections, a weight for what a history hits,
LambdaRank's pairs weighed by what NDCG changes by, Adam for dense layers and FTRL-Proximal for rows and hits. It is
checked to be the same: from the same weights it computes the loss that Thresher reports, and takes the same step.

An ad is computed once per batch. Every row of the tables takes a step: that is faster than copying a batch's rows out,
and than sparse gradients. The words of a history that an ad hits are weighed once per request, and added up by
index_add.
"""

import numpy as np
from bench.ads.log import Batches, discounts
from bench.shared.way import time_steps

SIDES = ("query", "item")
PARTS = ("hidden.weight", "hidden.bias", "output.weight", "output.bias", "product.weight")  # tensors of a side
RATES = {"dense": 0.002, "tables": 0.1, "hits": 0.05}  # of Adam and FTRL, as in thresher/dual.h; Adam's do not fall here


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

    def rank_loss(scores, gains, discounts):
        """HitMatch (2), a request's mean: the best ad, the first, is compared with the others, which are all alike."""
        with torch.no_grad():
            order = scores.argsort(dim=1, descending=True, stable=True)  # the first of equal scores ranks before others
            places = torch.empty_like(scores).scatter_(1, order, discounts.expand_as(scores))
        weights = (gains[:, :1] - gains[:, 1:]).abs() * (places[:, :1] - places[:, 1:]).abs()
        return (torch.nn.functional.softplus(scores[:, 1:] - scores[:, :1]) * weights).sum() / len(scores)

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
        def __init__(self, tensors, batch, compiled=False):
            self.batch = batch  # FTRL's gradients are scaled by the batch
            self.tables = [torch.tensor(tensors[f"{side}.embeddings"]) for side in SIDES]
            self.hits = torch.tensor(np.concatenate([tensors["hits.words"], tensors["hits.fields"]]))
            self.sides = [Side(tensors, side) for side in SIDES]
            dense = [p for s in self.sides for p in s.parameters()]
            self.adam = torch.optim.Adam(dense, lr=RATES["dense"], fused=True)
            self.sparse = [(self.tables[0], RATES["tables"]), (self.tables[1], RATES["tables"]), (self.hits, RATES["hits"])]
            self.slots = [(-w / alpha, torch.zeros_like(w)) for w, alpha in self.sparse]
            for w, _ in self.sparse:
                w.requires_grad_()
            self.ftrl = torch.compile(ftrl) if compiled else ftrl
            self.compute = torch.compile(self.loss_of, dynamic=True) if compiled else self.loss_of

        def pool(self, table, bags):
            return embedding_bag(bags["rows"], table, bags["offsets"], mode="sum", per_sample_weights=bags["weights"])

        def add_hits(self, hits, b):
            weights = hits[b["hit_rows"]] * b["hit_known"] + hits[b["hit_fields"]] * b["hit_x"]
            sums = torch.zeros(b["places"].numel()).index_add(0, b["match_ads"], weights[b["match_words"]])
            return sums.view_as(b["places"])

        def loss_of(self, tables, hits, b):
            users, items = [side(self.pool(table, bags).view(-1, side.parts[0].shape[0]))
                            for side, table, bags in zip(self.sides, tables, (b["users"], b["items"]))]  # fmt: skip
            shown = items.index_select(0, b["places"].view(-1)).view(len(users), -1, users.shape[1])
            scores = torch.bmm(shown, users[:, :, None])[:, :, 0] + self.add_hits(hits, b)
            return rank_loss(scores, b["gains"], b["discounts"])

        def prepare(self, batch):
            """The batch's arrays as tensors."""

            def tensors(part):
                return {k: tensors(v) if isinstance(v, dict) else torch.from_numpy(v) for k, v in part.items()}

            return tensors({**batch, "discounts": discounts(batch["gains"].shape[1]).astype(np.float32)})

        def weights(self):
            """What a model's file holds, by name."""
            n_words = len(self.tables[0])
            made = {f"{side}.embeddings": table for side, table in zip(SIDES, self.tables)}
            made |= {"hits.words": self.hits[:n_words], "hits.fields": self.hits[n_words:]}
            for side, layers in zip(SIDES, self.sides):
                made |= {f"{side}.{name}": part for name, part in zip(PARTS, layers.parts)}
            return {name: tensor.detach().numpy() for name, tensor in made.items()}

        def step(self, batch):
            made = self.prepare(batch)
            for w, _ in self.sparse:
                w.grad = None
            self.adam.zero_grad(set_to_none=True)
            loss = self.compute(self.tables, self.hits, made)
            loss.backward()
            self.adam.step()
            with torch.no_grad():
                for (w, alpha), slots in zip(self.sparse, self.slots):
                    self.ftrl(w, *slots, w.grad, alpha, float(self.batch))
            return float(loss.detach())

    return Trainer


def time_way(torch, tensors, log, batch, compiled, seconds):
    """Requests per second, and the share of it that making batches took.

    The speed is that of the fastest run of as many steps as an epoch has; Thresher's is that of its fastest epoch.
    """
    trainer, n = define(torch)(tensors, batch, compiled), len(log.shown)
    steps, make_share = time_steps(Batches(log).make, trainer.step, n, batch, seconds)
    of_epoch = min(len(steps), n // batch)
    best = float(np.convolve(steps, np.ones(of_epoch), "valid").min())
    return {"requests_per_s": batch * of_epoch / best, "make_share": make_share}
