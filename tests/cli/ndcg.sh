#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# eval ndcg on rankings that can be judged by hand, by every convention, from every kind of file.
set -eu
. "$(dirname "$0")/lib.inc"

# Query 7 is ranked 0 2 1, query 3 has equal labels only, query 9 nothing relevant; rows of 7 are not adjacent.
cat >judged.svm <<'END'
# label qid:N index:value
1 qid:7 1:0.5 # third
0 qid:9 1:0.1
2 qid:3 1:1

0 qid:7 2:1 # first
0 qid:9 1:0.2
2 qid:3 1:3
2 qid:7 1:0.5 # second
END
printf '0.5\n1\n3\n9\n2\n-1e3\n1\n' >scores.txt
works "$THRESHER" eval ndcg scores.txt judged.svm -k 2
matches '^NDCG@2 *0.840432  of 3 queries, 1 without a gain; as lightgbm has it, gain 2^label - 1$' out
matches '^MAP  *0.861111  ' out
matches '^pairs  *0.333333  of 3 pairs, 0 of equal scores, which count as wrong$' out
works "$THRESHER" eval ndcg scores.txt judged.svm -k 2 --json
is_json out
matches '"ndcg_at_2":0.84043[0-9]*,"map":0.86111[0-9]*,"mrr":0.83333[0-9]*,' out
matches '"n_pairs":3,"n_pairs_right":1,"n_pairs_tied":0,"n_rows":7,"n_queries":3,"n_queries_without_gain":1,"k":2' out
cp out expected

works "$THRESHER" eval ndcg scores.txt judged.svm -k 2 --convention xgboost-minus --json
matches '"ndcg_at_2":0.50709' out
works "$THRESHER" eval ndcg scores.txt judged.svm -k 2 --convention letor --gain linear --json
matches '"ndcg_at_2":0.55555' out
works "$THRESHER" eval ndcg scores.txt judged.svm -k 3 --convention letor --json
matches '"ndcg_at_3":0.30257' out
works "$THRESHER" eval ndcg scores.txt judged.svm -k 0 --convention xgboost-minus --json
matches '"ndcg":0.55300' out
yes 0 | head -7 >zeros.txt
works "$THRESHER" eval ndcg zeros.txt judged.svm --ties right --json
matches '"pair_accuracy":1,"n_pairs":3,"n_pairs_right":0,"n_pairs_tied":3' out

# the same by other ways
sed 's/$/\r/' judged.svm >crlf.svm
sed 's/.*/x\t&/' scores.txt >scores.tsv
tr '\n' ' ' <scores.txt | tr ' ' '\n' | to_fvecs >scores.fvecs
grep '^[0-9]' judged.svm | sort -s -t: -k2,2n | sed 's/ qid:[0-9]*//' >side.svm
printf '2\n3\n2\n' >side.svm.query
grep '^[0-9]' judged.svm | paste scores.txt - | sort -s -t: -k2,2n | cut -f1 >side.txt
for words in 'scores.txt crlf.svm' 'scores.tsv:2 judged.svm' 'scores.fvecs judged.svm' 'side.txt side.svm'; do
    # shellcheck disable=SC2086
    works "$THRESHER" eval ndcg $words -k 2 --json
    same out expected
done
"$THRESHER" eval ndcg scores.txt -.svm -k 2 --json <judged.svm >out || die "labels from a pipe"
same out expected
if "$THRESHER" info | grep -q '^built with.* gz'; then
    gzip -c side.svm >packed.svm.gz
    gzip -c side.svm.query >packed.svm.query.gz
    works "$THRESHER" eval ndcg side.txt packed.svm.gz -k 2 --json
    same out expected
fi
for time in first second; do
    works "$THRESHER" eval ndcg scores.txt judged.svm -k 2 --json --cache
    same out expected
    [ -s judged.svm.thr-cache ] || die "no cache the $time time"
done
printf 'no cache' >judged.svm.thr-cache
works "$THRESHER" eval ndcg scores.txt judged.svm -k 2 --json --cache
same out expected

# what files hold
works "$THRESHER" info judged.svm
matches '^rows  *7$' out
matches '^queries  *3, of 2 to 3 rows$' out
matches '^pairs  *3 of different labels$' out
matches '^labels  *0 to 2$' out
works "$THRESHER" info judged.svm --json
is_json out
matches '"n_rows":7,"n_queries":3,"smallest_query":2,"largest_query":3,"n_pairs":3,"n_features":2,"dense":true' out
printf '1 5:1\n-1 70:2\n' >plain.libsvm
works "$THRESHER" info plain.libsvm
matches '^queries  *none' out
matches '^features  *70, sparse$' out

# what does not fit
fails 1 'side.svm: none of 7 rows has a qid:N.*no file side.svm.query' sh -c "rm side.svm.query; '$THRESHER' eval ndcg side.txt side.svm"
printf '1\n2\n' >side.svm.query
fails 1 'side.svm.query: its 2 queries have 3 rows, side.svm has 7' "$THRESHER" eval ndcg side.txt side.svm
fails 1 'zeros.txt has 7 scores, one.svm has 1 rows' sh -c "echo '1 qid:1 1:1' >one.svm; '$THRESHER' eval ndcg zeros.txt one.svm"
printf '1\nx\n' >bad.txt
fails 1 'bad.txt: line 2 is not a score: "x"' "$THRESHER" eval ndcg bad.txt judged.svm
yes nan | head -7 >nan.txt
fails 1 'judged.svm: query 0, row 0: the score is not a number' "$THRESHER" eval ndcg nan.txt judged.svm
printf '1 2\n' | to_fvecs >wide.fvecs
fails 1 'wide.fvecs: a row has 2 numbers, a score is one' "$THRESHER" eval ndcg wide.fvecs judged.svm
for line in '1 qid:1 0:1' '1 qid:1 2:1 1:1' '1 qid:1 9999999999:1' '1 qid:1 1:nan' 'nan qid:1 1:1'; do
    printf '1 qid:1 1:1\n%s\n' "$line" >bad.svm
    fails 1 'bad.svm: line 2, column ' "$THRESHER" eval ndcg zeros.txt bad.svm
done
: >empty.svm
: >empty.txt
fails 1 'empty.svm: holds no rows: there is nothing to measure' "$THRESHER" eval ndcg empty.txt empty.svm
printf '1268 qid:1 1:1\n0 qid:1 1:2\n' >list.svm
printf '1\n2\n' >two.txt
fails 1 'list.svm: query 0, row 0: the label is 1268.*use linear gain' "$THRESHER" eval ndcg two.txt list.svm
works "$THRESHER" eval ndcg two.txt list.svm --gain linear --json
matches '"ndcg_at_10":0.6309' out
printf '1 qid:1 1:1\n1 qid:2 1:2\n' >alone.svm
run "$THRESHER" eval ndcg two.txt alone.svm
matches 'alone.svm: no query has two rows of different labels' err
matches '^pairs  *-  ' out
fails 1 'missing.svm' "$THRESHER" eval ndcg two.txt missing.svm
fails 2 'FILE' "$THRESHER" eval ndcg two.txt

# rows without queries: the message offers --one-query, which works
printf '1 1:1\n0 1:2\n' >plain.svm
printf '0.5\n0.2\n' >plain.txt
fails 1 'plain.svm: none of 2 rows has a qid.*(--one-query treats all rows as one query)$' \
    "$THRESHER" eval ndcg plain.txt plain.svm
works "$THRESHER" eval ndcg plain.txt plain.svm --one-query
matches '^NDCG@10 *1.000000 *of 1 query, 0 without a gain' out

# values are spelled as in Python, too, and suggestions ignore the case
works "$THRESHER" eval ndcg scores.txt judged.svm --convention xgboost-minus
cp out expected
works "$THRESHER" eval ndcg scores.txt judged.svm --convention xgboost_minus
same out expected
random_rows 100 8 1 | to_fbin >rows.fbin
works "$THRESHER" index build rows.fbin -o half.index --keep float16
works "$THRESHER" info half.index
matches 'f16' out
for pair in COSINE:cosine L2:l2 Euclidean:l2 DOT:ip; do
    fails 2 "is none of cosine, ip, l2; did you mean ${pair#*:}?" \
        "$THRESHER" index build rows.fbin -o x.index --metric "${pair%:*}"
done

# scores that tie leave the order of the file: a note has their share
printf '%s\n' '2 qid:1 1:1' '1 qid:1 1:2' '0 qid:1 1:3' >sorted.svm
printf '0\n0\n1\n' >ties.txt
works "$THRESHER" eval ndcg ties.txt sorted.svm
matches '33.3 % of the pairs have equal scores: their rows rank in the order of the file' err
printf '3\n2\n1\n' >ties.txt
works "$THRESHER" eval ndcg ties.txt sorted.svm
! grep 'equal scores:' err || die "a note without ties"
