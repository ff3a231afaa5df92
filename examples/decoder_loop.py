# SPDX-License-Identifier: Apache-2.0
"""A decoder that somebody else wrote, greedy and with beams, and what changes when a head finds its words."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

import thresher

WORDS, DIMS, STEPS, BEAM = 20_000, 64, 12, 4
Best = Callable[[Any, int], "tuple[Any, Any]"]  # states [n, DIMS], k -> words [n, k] and log-probabilities [n, k]

# The model: a word moves the state, and the next word is one that the state is like. Random, and yet a decoder.
rng = np.random.default_rng(1)
embeddings = rng.standard_normal((WORDS, DIMS)).astype(np.float32)
recurrent = (rng.standard_normal((DIMS, DIMS)) / np.sqrt(DIMS)).astype(np.float32)
output, bias = rng.standard_normal((WORDS, DIMS)).astype(np.float32), rng.standard_normal(WORDS).astype(np.float32)


def step(states: Any, words: Any) -> Any:
    return np.tanh(states @ recurrent + 0.5 * embeddings[words])


def full_softmax(states: Any, k: int) -> tuple[Any, Any]:
    """What the decoder did until today: every logit, all of them normalised, the best by a sort."""
    logits = states @ output.T + bias
    words = np.argsort(-logits, axis=1, kind="stable")[:, :k]
    logits -= logits.max(1, keepdims=True)
    return words, np.take_along_axis(logits - np.log(np.exp(logits).sum(1, keepdims=True)), words, 1)


def greedy(best: Best) -> list[int]:
    states, sentence = np.zeros((1, DIMS), np.float32), [0]
    for _ in range(STEPS):
        states = step(states, np.array(sentence[-1:]))
        sentence.append(int(best(states, 1)[0][0, 0]))
    return sentence


def beams(best: Best) -> list[tuple[float, list[int]]]:
    states, found = np.zeros((1, DIMS), np.float32), [(0.0, [0])]
    for _ in range(STEPS):
        states = step(states, np.array([sentence[-1] for _, sentence in found]))
        words, log_probs = best(states, BEAM)
        longer = [
            (score + float(log_probs[i, j]), [*sentence, int(words[i, j])], i)
            for i, (score, sentence) in enumerate(found)
            for j in range(BEAM)
        ]
        longer = sorted(longer, key=lambda one: -one[0])[:BEAM]
        states, found = states[[i for _, _, i in longer]], [(score, sentence) for score, sentence, _ in longer]
    return found


def main() -> int:
    # The change: the output layer becomes a head, and the decoder gets a function that queries it.
    head = thresher.Head.build(output, bias=bias)

    def with_all_words(states: Any, k: int) -> tuple[Any, Any]:
        words, _, log_probs = head.query(states, k)
        return words, log_probs

    def with_shortlist(states: Any, k: int) -> tuple[Any, Any]:
        """Exact logits of a shortlist; "exact" has log-probabilities of all words, as the decoder had."""
        words, _, log_probs = head.query(states, k, screen="planes", normaliser="exact")
        return words, log_probs

    good = True
    wanted, wanted_beams = greedy(full_softmax), beams(full_softmax)
    for name, best in (("all words", with_all_words), ("shortlist", with_shortlist)):
        words, found = greedy(best), beams(best)
        same = [sentence for _, sentence in found] == [sentence for _, sentence in wanted_beams]
        near = np.allclose([score for score, _ in found], [score for score, _ in wanted_beams], atol=1e-3)
        print(f"{name}: greedy as before: {words == wanted}, beams as before: {same}")
        good = good and words == wanted and same and bool(near)

    # Measure a shortlist's recall with states of the decoder itself.
    states = np.concatenate([step(np.zeros((1, DIMS), np.float32), np.array([word])) for word in range(200)])
    measured = head.measure(states, BEAM, screen="planes")
    print(f"recall@{BEAM} {measured.recall:.4f} by {measured.candidates:.0f} of {head.info.n_words} words per state")
    return 0 if good and measured.recall > 0.95 else 1


if __name__ == "__main__":
    raise SystemExit(main())
