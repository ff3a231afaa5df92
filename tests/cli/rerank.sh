#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# index search --rank: features of found items, a model learned from them, and its order; bad arguments.
set -eu
. "$(dirname "$0")/lib.inc"

random_rows 300 16 1 >base
random_rows 20 16 2 >queries
to_fvecs <base >base.fvecs
to_fvecs <queries >queries.fvecs
awk 'BEGIN { for (i = 0; i < 300; i++) print "item" i }' >names.txt
works "$THRESHER" index build base.fvecs --ids names.txt -o named.index -q
works "$THRESHER" index build base.fvecs -o plain.index -q
random_rows 300 3 3 | awk 'BEGIN { print "clicks\tid\tprice\tage" } { printf "%.6f\titem%d\t%.6f\t%.6f\n", $1, NR - 1, $2, $3 }' >items.tsv

# the features of found items: the search's score, and the columns that are named
works "$THRESHER" index search named.index queries.fvecs -k 20 --exact -o run.trec
works "$THRESHER" index search named.index queries.fvecs -k 20 --exact --rank-columns price,score,clicks \
    --rank-features items.tsv -o found.svm
awk 'FILENAME == "items.tsv" { if (FNR > 1) { clicks[$2] = $1; price[$2] = $3 } next }
    FILENAME == "run.trec" { order[++n] = $1 " " $3 " " $5; next }
    { split($3 ":" $4 ":" $5, f, ":"); split(order[FNR], o, " "); item = $NF
        if ($1 != 0 || $2 != "qid:" o[1] || item != o[2] || f[4] - o[3] > 1e-6 || o[3] - f[4] > 1e-6 ||
            (f[2] - price[item]) ^ 2 > 1e-12 || (f[6] - clicks[item]) ^ 2 > 1e-12) { print FNR ": " $0; exit 1 } }
    END { exit FNR != 400 }' items.tsv run.trec found.svm || die "found.svm does not have the found items"

# rows by the items of a column, in any order and with others between, are the same
(head -1 items.tsv && printf '1\tsomething else\t2\t3\n' && tail -n +2 items.tsv | sort) >mixed.tsv
works "$THRESHER" index search named.index queries.fvecs -k 20 --exact --rank-columns price,score,clicks \
    --rank-features mixed.tsv --rank-items id -o again.svm
same found.svm again.svm
tail -n +2 items.tsv >bare.tsv # no names: columns have numbers
works "$THRESHER" index search plain.index queries.fvecs -k 20 --exact --rank-columns 3,score,1 \
    --rank-features bare.tsv -o plain.svm
sed 's/ item/ /' found.svm >expected
same plain.svm expected

# learn from labels that prices make, and rank by the model: the order is that of its predictions
awk '{ split($3, f, ":"); $1 = f[2] > 0.3 ? 2 : f[2] > -0.3; print }' found.svm >train.svm
works "$THRESHER" rank train train.svm -c 1 -o m.safetensors -q
works "$THRESHER" rank predict m.safetensors train.svm -o wanted.trec
works "$THRESHER" index search named.index queries.fvecs -k 20 --exact --rank m.safetensors \
    --rank-columns price,score,clicks --rank-features items.tsv -o ranked.trec
awk '{ print $1, $3, $4 }' wanted.trec >expected
awk '{ print $1, $3, $4 }' ranked.trec >got
same got expected
works "$THRESHER" index search named.index queries.fvecs -k 20 --exact --rank m.safetensors \
    --rank-columns price,score,clicks --rank-features items.tsv -o ranked.svm # features stay with their items
sort found.svm >a
sort ranked.svm >b
same a b

# of more that are found the best are shown
works "$THRESHER" index search named.index queries.fvecs -k 5 --rank-depth 20 --exact --rank m.safetensors \
    --rank-columns price,score,clicks --rank-features items.tsv -o deep.trec
awk '$4 <= 5' ranked.trec >expected
same deep.trec expected
works "$THRESHER" index search named.index queries.fvecs -k 5 --rank-depth 20 --exact --rank m.safetensors \
    --rank-columns price,score,clicks --rank-features items.tsv --json
is_json out
matches '"search_scores":\[' out
works "$THRESHER" index search named.index --like item7 -k 3 --rank m.safetensors --rank-columns price,score,clicks \
    --rank-features items.tsv
matches '^like item7$' out
[ "$(wc -l <out)" -eq 4 ] || die "not three items"

# equal scores: by the smaller id
printf 'solver_type L2R_L2LOSS_RANKSVM\nnr_class 2\nnr_feature 1\nbias -1\nw\n0\n' >zero.model
works "$THRESHER" index search plain.index queries.fvecs -k 10 --rank zero.model --rank-columns score -o -.trec
awk '$1 == q && $3 <= last { exit 1 } { q = $1; last = $3 }' out || die "equal scores are not by id"

# errors
search="$THRESHER index search named.index queries.fvecs -k 5"
model="--rank m.safetensors --rank-columns price,score,clicks"
while IFS='|' read -r code pattern words; do
    # shellcheck disable=SC2086 # words
    fails "$code" "$pattern" $search $words
done <<END
2|--rank needs --rank-columns|--rank m.safetensors
2|-o x.svm: features need --rank-columns|-o x.svm
2|--rank-columns are for --rank MODEL, or for -o FILE.svm|--rank-columns score
2|--rank-features and --rank-depth need --rank-columns|--rank-features items.tsv
2|--rank-depth 3 is less than the 5 of -k|$model --rank-features items.tsv --rank-depth 3
2|--rank-items is a column of --rank-features|$model --rank-features base.fvecs --rank-items id
1|m.safetensors has 3 features, --rank-columns price,score names 2: name each|--rank m.safetensors --rank-columns price,score --rank-features items.tsv
1|columns except "score" need --rank-features|$model
1|items.tsv:price,weight.*weight|--rank m.safetensors --rank-columns price,score,weight --rank-features items.tsv
1|there is no column "17" in base.fvecs: it has 1 to 16|--rank m.safetensors --rank-columns 1,score,17 --rank-features base.fvecs
1|queries.fvecs has 20 rows, the index has 300 items|--rank m.safetensors --rank-columns 1,score,2 --rank-features queries.fvecs
1|names.txt|--rank m.safetensors --rank-columns 1,score,2 --rank-features names.txt
1|items.tsv: row 1: "item0" is not a finite number|--rank m.safetensors --rank-columns id,score,price --rank-features items.tsv
END
head -200 items.tsv >short.tsv
# shellcheck disable=SC2086 # words
fails 1 'short.tsv: the item of row 199 of the index has no row: expected 300' $search $model --rank-features short.tsv
(cat items.tsv && tail -1 items.tsv) >long.tsv
# shellcheck disable=SC2086 # words
fails 1 'long.tsv: more rows than the index.s 300 items' $search $model --rank-features long.tsv
# shellcheck disable=SC2086 # words
fails 1 'long.tsv: row 301 is a second one of its item' $search $model --rank-features long.tsv --rank-items id
fails 2 '--rank and --rank-columns are for the best -k' "$THRESHER" index search named.index queries.fvecs --radius 0.5 \
    --rank m.safetensors --rank-columns score
fails 1 'nowhere' "$THRESHER" index search named.index queries.fvecs -k 5 --rank nowhere --rank-columns score

# cells reorder items
works "$THRESHER" index build base.fvecs --ids names.txt --cells 8 -o cells.index -q
works "$THRESHER" index search cells.index queries.fvecs -k 20 --exact --rank-columns price,score,clicks \
    --rank-features items.tsv --rank-items id -o again.svm
same found.svm again.svm
fails 1 'items.tsv: cells reorder items, so rows cannot be matched to them: name the column of items with --rank-items' \
    "$THRESHER" index search cells.index queries.fvecs -k 5 --rank-columns score,price --rank-features items.tsv \
    -o none.svm

# an index that was changed: rows have no order, and removed items need none
cp -r named.index changed.index
works "$THRESHER" index remove changed.index --name item3 --name item299
search="$THRESHER index search changed.index queries.fvecs -k 5 --exact --rank m.safetensors --rank-columns price,score,clicks"
# shellcheck disable=SC2086 # words
fails 1 'rows cannot be matched to them: name the column of items with --rank-items' $search --rank-features items.tsv
grep -vw -e item3 -e item299 items.tsv >fewer.tsv
# shellcheck disable=SC2086
works $search --rank-features fewer.tsv --rank-items id -o changed.trec
# shellcheck disable=SC2086
works $search --rank-features items.tsv --rank-items id -o again.trec
same changed.trec again.trec
