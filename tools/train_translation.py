#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Train an LSTM translator, with attention or without, for `thresher translate` (docs/translate.md describes the model).

Wants torch, numpy, safetensors and the package thresher. Each data file has lines "source TAB target", may be packed
by xz or gz, or is two text files SOURCE:TARGET with one line per sentence each. What is written to --out:

    model.safetensors   the best epoch by loss on held-out sentences
    test.source, test.target
                        held-out sentences, which nothing was learned or chosen from
    checkpoint.pt       the training's state; the same command resumes it
    log.tsv             epoch, learning rate, validation loss a word

The output layer is trained over a sample of words: the sum of all words' exponentials is estimated from --negatives
words drawn by frequency ^ .75, each divided by how often it is expected (importance sampling). --full-epochs of the
last epochs sum over all words.
"""

import argparse
import collections
import gzip
import lzma
import math
import pathlib
import random
import signal
import sys
import time

import numpy
import torch
from safetensors.numpy import save_file
from torch import nn
from torch.nn import functional

import thresher

UNKNOWN, START, END = 0, 1, 2
SPECIAL = ["<unk>", "<s>", "</s>"]


# ------------------------------------------------------------------------------------------------ data


def lines_of(path):
    opener = {".xz": lzma.open, ".gz": gzip.open}.get(pathlib.Path(path).suffix, open)
    with opener(path, "rt", encoding="utf-8") as file:
        return [line.rstrip("\r\n") for line in file]


def pairs_of(name):
    if ":" in name:
        source, target = (lines_of(path) for path in name.split(":"))
        if len(source) != len(target):
            sys.exit(f"{name}: {len(source)} lines beside {len(target)}")
        return list(zip(source, target))
    return [tuple(line.split("\t")[:2]) for line in lines_of(name) if "\t" in line]


def parted(pairs, n_valid, n_test, rng):
    """Held-out sentences: all pairs of a source sentence are on one side, and one of them is kept."""
    by_source = collections.defaultdict(list)
    for source, target in pairs:
        by_source[" ".join(thresher.split_words(source))].append((source, target))
    keys = sorted(by_source)
    rng.shuffle(keys)
    held = [[by_source[key][0] for key in part] for part in (keys[:n_valid], keys[n_valid : n_valid + n_test])]
    return [pair for key in keys[n_valid + n_test :] for pair in by_source[key]], *held


def vocabulary(sentences, limit):
    counts = collections.Counter(word for words in sentences for word in words)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[: limit - len(SPECIAL)]
    words = SPECIAL + [word for word, _ in ordered]
    return words, numpy.array([0, 0, len(sentences)] + [count for _, count in ordered], dtype=numpy.float64)


def numbered(words, ids):
    return [ids.get(word, UNKNOWN) for word in words]


def batches(pairs, words_a_batch, rng):
    """Batches of sources of one length, so that no place is padding; targets are padded by -1."""
    by_length = collections.defaultdict(list)
    for pair in pairs:
        by_length[len(pair[0])].append(pair)
    out = []
    for group in by_length.values():
        rng.shuffle(group)
        group = sorted(group, key=lambda pair: len(pair[1]) // 4)
        batch = []
        for pair in group:
            if batch and (len(batch) + 1) * max(len(pair[1]), len(pair[0])) > words_a_batch:
                out.append(batch)
                batch = []
            batch.append(pair)
        out.append(batch)
    rng.shuffle(out)
    return out


def tensors_of(batch):
    source = torch.tensor([pair[0] for pair in batch])
    longest = max(len(pair[1]) for pair in batch)
    target = torch.full((len(batch), longest), -1)
    for i, pair in enumerate(batch):
        target[i, : len(pair[1])] = torch.tensor(pair[1])
    shown = torch.cat([torch.full((len(batch), 1), START), target[:, :-1].clamp(min=0)], 1)
    return source, shown, target


# ------------------------------------------------------------------------------------------------ model


class Translator(nn.Module):
    def __init__(self, n_source, n_target, embed, hidden, dims, layers, dropout, plain=False):
        super().__init__()
        inner = dropout if layers > 1 else 0
        self.source = nn.Embedding(n_source, embed)
        self.encoder = nn.LSTM(embed, hidden // 2, layers, batch_first=True, bidirectional=True, dropout=inner)
        self.target = nn.Embedding(n_target, embed)
        self.decoder = nn.LSTM(embed, hidden, layers, batch_first=True, dropout=inner)
        self.plain = plain
        if not plain:
            self.attention = nn.Linear(hidden, hidden, bias=False)
            self.combine = nn.Linear(2 * hidden, dims, bias=False)
        self.output = nn.Linear(dims, n_target)
        self.dropout = nn.Dropout(dropout)
        for table in (self.source, self.target):
            nn.init.normal_(table.weight, std=embed**-0.5)
        nn.init.normal_(self.output.weight, std=dims**-0.5)

    def encode(self, source):
        memory, (h, c) = self.encoder(self.dropout(self.source(source)))
        n_layers, n = h.shape[0] // 2, h.shape[1]
        # Directions of a layer side by side.
        return memory, tuple(x.view(n_layers, 2, n, -1).transpose(1, 2).reshape(n_layers, n, -1) for x in (h, c))

    def states(self, memory, start, words):
        s, end = self.decoder(self.dropout(self.target(words)), start)
        if self.plain:
            return s, end
        scores = s @ self.attention(memory).transpose(1, 2)
        context = torch.softmax(scores, 2) @ memory
        return torch.tanh(self.combine(torch.cat([context, s], 2))), end

    def forward(self, source, shown):
        memory, start = self.encode(source)
        return self.dropout(self.states(memory, start, shown)[0])


def full_loss(model, states, target):
    return functional.cross_entropy(model.output(states), target, reduction="sum")


def sampled_loss(model, states, target, chances, n):
    drawn = torch.multinomial(chances, n, replacement=True)
    weight, bias = model.output.weight, model.output.bias
    right = (states * weight[target]).sum(1) + bias[target]
    others = torch.addmm(bias[drawn] - torch.log(n * chances[drawn]), states, weight[drawn].T)
    others = others.masked_fill(target[:, None] == drawn[None, :], -math.inf)
    return (torch.logsumexp(torch.cat([right[:, None], others], 1), 1) - right).sum()


@torch.no_grad()
def validate(model, pairs, words_a_batch):
    model.eval()
    loss = words = 0
    for batch in batches(pairs, words_a_batch, random.Random(0)):
        source, shown, target = tensors_of(batch)
        kept = target >= 0
        loss += full_loss(model, model(source, shown)[kept], target[kept]).item()
        words += int(kept.sum())
    return loss / words


@torch.no_grad()
def greedy(model, source, longest):
    """The words of one batch, <unk> left out."""
    model.eval()
    memory, at = model.encode(source)
    words = torch.full((len(source), 1), START)
    out = []
    for _ in range(longest):
        state, at = model.states(memory, at, words)
        logits = model.output(state[:, 0])
        logits[:, UNKNOWN] = -math.inf
        words = logits.argmax(1, keepdim=True)
        out.append(words)
        if bool((torch.cat(out, 1) == END).any(1).all()):
            break
    return [row[: row.index(END)] if END in row else row for row in torch.cat(out, 1).tolist()]


def tensors_to_keep(model, source_words, target_words, half):
    names = {
        "source": "encoder.embedding",
        "target": "decoder.embedding",
        "encoder": "encoder.lstm",
        "decoder": "decoder.lstm",
    }
    out = {}
    for name, value in model.state_dict().items():
        room, rest = name.split(".", 1)
        value = value.detach().numpy()
        out[f"{names.get(room, room)}.{rest}"] = numpy.ascontiguousarray(value.astype(numpy.float16) if half else value)
    for side, words in (("source", source_words), ("target", target_words)):
        out[f"{side}.words"] = numpy.frombuffer("".join(word + "\n" for word in words).encode(), dtype=numpy.uint8)
    return out


# ------------------------------------------------------------------------------------------------ training


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("data", nargs="+", help="FILE.tsv[.xz|.gz], or SOURCE:TARGET")
    add("--out", required=True, type=pathlib.Path)
    add("--languages", default="", help="as in en-de: written into the model's metadata")
    add("--embed", type=int, default=256)
    add("--hidden", type=int, default=512, help="of the decoder; each direction of the encoder has half of it")
    add("--dims", type=int, default=512, help="of the states that the output layer meets")
    add("--layers", type=int, default=1)
    add("--no-attention", action="store_true", help="states are the decoder's; --dims is --hidden")
    add("--source-words", type=int, default=40000)
    add("--target-words", type=int, default=40000)
    add("--longest", type=int, default=60, help="words; longer sentences are left out of training")
    add("--held-out", type=int, default=2000, help="sentences for test, and half as many for validation, of each file")
    add("--epochs", type=int, default=10)
    add("--full-epochs", type=int, default=0)
    add("--negatives", type=int, default=2048, help="0: all words, always")
    add("--batch", type=int, default=2500, help="words")
    add("--rate", type=float, default=1e-3, help="of Adam; halves each epoch of the last half of them")
    add("--dropout", type=float, default=0.2)
    add("--half", action="store_true", help="keep float16")
    add("--seed", type=int, default=1)
    add("--threads", type=int, default=0)
    return parser.parse_args()


def rate_of(a, epoch):
    return a.rate * 0.5 ** max(0, epoch - a.epochs // 2 + 1)


def main():
    a = arguments()
    a.dims = a.hidden if a.no_attention else a.dims
    if a.threads:
        torch.set_num_threads(a.threads)
    a.out.mkdir(parents=True, exist_ok=True)
    rng = random.Random(a.seed)
    torch.manual_seed(a.seed)
    parts = ([], [], [])
    for name in a.data:
        for part, pairs in zip(parts, parted(pairs_of(name), a.held_out // 2, a.held_out, rng)):
            part.extend(pairs)
    (a.out / "test.source").write_text("".join(source + "\n" for source, _ in parts[2]), encoding="utf-8")
    (a.out / "test.target").write_text("".join(target + "\n" for _, target in parts[2]), encoding="utf-8")
    split = [[(thresher.split_words(s), thresher.split_words(t)) for s, t in part] for part in parts[:2]]
    split = [[(s, t) for s, t in part if 0 < len(s) <= a.longest and 0 < len(t) <= a.longest] for part in split]
    source_words, _ = vocabulary([s for s, _ in split[0]], a.source_words)
    target_words, counts = vocabulary([t for _, t in split[0]], a.target_words)
    ids = [{word: i for i, word in enumerate(words)} for words in (source_words, target_words)]
    train, valid = [[([*numbered(s, ids[0]), END], [*numbered(t, ids[1]), END]) for s, t in part] for part in split]
    print(
        f"{len(train)} pairs to learn from, {len(valid)} to validate, {len(parts[2])} to test; "
        f"{len(source_words)} source words, {len(target_words)} target words",
        flush=True,
    )

    counts[UNKNOWN] = sum(t.count(UNKNOWN) for _, t in train)
    chances = torch.tensor(counts**0.75, dtype=torch.float32)
    chances /= chances.sum()
    model = Translator(len(source_words), len(target_words), a.embed, a.hidden, a.dims, a.layers, a.dropout, a.no_attention)
    optimiser = torch.optim.Adam(model.parameters(), lr=a.rate, betas=(0.9, 0.98), fused=True)
    first, best, behind = 0, math.inf, 0
    checkpoint = a.out / "checkpoint.pt"
    if checkpoint.exists():
        kept = torch.load(checkpoint, weights_only=False)
        model.load_state_dict(kept["model"])
        optimiser.load_state_dict(kept["optimiser"])
        first, best, behind = kept["epoch"], kept["best"], kept["batches"]
        print(f"going on after epoch {first} and {behind} batches", flush=True)

    def keep(epoch, batches_done):
        state = {"model": model.state_dict(), "optimiser": optimiser.state_dict(), "epoch": epoch, "best": best}
        torch.save({**state, "batches": batches_done}, a.out / "checkpoint.tmp")
        (a.out / "checkpoint.tmp").replace(checkpoint)

    ended = []
    signal.signal(signal.SIGINT, lambda *_: ended.append(True))
    shown_source = torch.tensor([source for source, _ in valid if len(source) == 8][:4] or [valid[0][0]])

    for epoch in range(first, a.epochs):
        for group in optimiser.param_groups:
            group["lr"] = rate_of(a, epoch)
        order = batches(train, a.batch, random.Random(a.seed * 1000 + epoch))
        model.train()
        full = a.negatives == 0 or epoch >= a.epochs - a.full_epochs
        loss = words = done = 0
        began = reported = saved = time.monotonic()
        for i, batch in enumerate(order):
            if i < behind:
                continue
            source, shown, target = tensors_of(batch)
            kept = target >= 0
            states, right = model(source, shown)[kept], target[kept]
            this = full_loss(model, states, right) if full else sampled_loss(model, states, right, chances, a.negatives)
            optimiser.zero_grad(set_to_none=True)
            (this / len(right)).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            loss, words, done = loss + this.item(), words + len(right), done + len(right)
            if not math.isfinite(loss):
                sys.exit("the loss is no number any more: try a smaller --rate")
            if time.monotonic() - reported > 60:
                reported = time.monotonic()
                print(
                    f"epoch {epoch + 1}: {i + 1} of {len(order)} batches, loss {loss / words:.3f}, "
                    f"{done / (reported - began):.0f} words/s",
                    flush=True,
                )
                loss = words = 0
            if ended or time.monotonic() - saved > 600:
                keep(epoch, i + 1)
                saved = time.monotonic()
            if ended:
                sys.exit("ended: the same command goes on")
        behind = 0
        judged = validate(model, valid, a.batch)
        with open(a.out / "log.tsv", "a", encoding="utf-8") as log:
            print(epoch + 1, rate_of(a, epoch), f"{judged:.4f}", sep="\t", file=log)
        print(f"epoch {epoch + 1}: validation loss {judged:.4f}, {time.monotonic() - began:.0f} s", flush=True)
        for row, out in zip(shown_source.tolist(), greedy(model, shown_source, 20)):
            print(
                "   ",
                thresher.join_words([source_words[i] for i in row[:-1]]),
                "->",
                thresher.join_words([target_words[i] for i in out]),
                flush=True,
            )
        if judged < best:
            best = judged
            kept = tensors_to_keep(model, source_words, target_words, a.half)
            languages = dict(zip(("source", "target"), a.languages.split("-"))) if a.languages else {}
            save_file(kept, a.out / "model.tmp", {"format": "thresher.seq2seq", "version": "1", **languages})
            (a.out / "model.tmp").replace(a.out / "model.safetensors")
        keep(epoch + 1, 0)


if __name__ == "__main__":
    main()
