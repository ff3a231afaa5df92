#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# At the limit of open files every command works, or names the limit and how to raise it; nothing counts as damaged.
set -eu
. "$(dirname "$0")/lib.inc"

need_python

works python -c '
import numpy as np
from thresher import Head, Hits, Index, shards
x = np.random.default_rng(1).standard_normal((600, 8)).astype("f")
np.save("queries.npy", x[:3])
open("ids.txt", "w").write("1\n2\n")
Index.build("one", x, ids=np.arange(600)).close()
with Index.open("one") as index, index.writer() as writer:
    writer.add(x[:5], ids=np.arange(600, 605))
shards.build("many", [x[a : a + 10] for a in range(0, 600, 10)], calibration_queries=0).close()
Hits.build("a.hits", [[n % 7] for n in range(600)]).close()
with Head.build(x) as head:
    head.save("a.head")
'
cp -r one changed

# at_limit N COMMAND...: with at most N open files
at_limit() {
    limit=$1
    shift
    run sh -c "ulimit -n $limit; exec \"\$@\"" sh "$@"
}

for words in "index search one queries.npy -k 3 -o found.trec" "index verify one" "index info one" \
    "index search one queries.npy -k 3 --filter ids.txt -o found.trec" "hits info a.hits" "head info a.head" \
    "index search many queries.npy -k 3 -o found.trec" "index info many" "index verify many" \
    "index search many --like 5 -k 3 -o found.trec" "index build queries.npy -o new" "index add changed queries.npy" \
    "index remove changed ids.txt" "index compact changed"; do
    for n in 4 5 6 7 8 9 10 11 12; do
        rm -rf new
        # shellcheck disable=SC2086 # words
        at_limit $n "$THRESHER" $words
        # shellcheck disable=SC2154 # lib.inc sets code
        [ "$code" -ne 0 ] || break
        [ "$code" -ne 127 ] || continue # the program itself could not be loaded
        [ "$code" -eq 1 ] || die "exit $code with $n open files: $words"
        matches "too many open files, this process may have $n: raise the limit with 'ulimit -n'" err
    done
    [ "$code" -eq 0 ] || die "12 open files are not enough: $words"
done
