#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rank train, predict and eval: a model that can be found by hand, files of both kinds, runs, and bad input.
set -eu
. "$(dirname "$0")/lib.inc"

# One feature, one pair: 1/2 w^2 + C (1 - w)^2 is least at w = 2 C / (1 + 2 C).
printf '1 qid:7 1:1\n0 qid:7 1:0\n' >pair.svm
works "$THRESHER" rank train pair.svm -o pair.model -c 2
matches 'pair.model: objective 0.4 with C 2, 100.00 % of 1 pair in order' err
awk 'NR == 6 && ($1 - 0.8) ^ 2 > 1e-28 { exit 1 }' pair.model || die "the weight is $(sed -n 6p pair.model)"
head -5 pair.model >start.txt
printf 'solver_type L2R_L2LOSS_RANKSVM\nnr_class 2\nnr_feature 1\nbias -1\nw\n' >expected
same start.txt expected

# 12 queries of rows whose first feature is the label but for noise; queries are mixed
random_rows 240 4 3 | awk '{
    label = NR % 5 == 0 ? 2 : NR % 3 == 0
    printf "%d qid:%d 1:%.6f 2:%s 3:%s 4:%s # docid = D%d inc = 1\n", label, NR % 12, label + 0.7 * $1, $2, $3, $4, NR
}' >train.svm
works "$THRESHER" rank train train.svm -o m.safetensors --json
is_json out
matches '"n_rows":240,"n_queries":12,"n_features":4,' out
matches '"converged":true' out
works "$THRESHER" info m.safetensors
matches '^model *linear ranking, [0-9]* features$' out
works "$THRESHER" info m.safetensors --json
matches '"kind":"ranking model"' out
works "$THRESHER" rank train train.svm -o again.safetensors --threads 1 -q
[ ! -s err ] || die "-q prints something"
works "$THRESHER" rank train train.svm -o other.safetensors --threads 3
same m.safetensors again.safetensors
same m.safetensors other.safetensors
works "$THRESHER" rank train train.svm -o m.txt -v
matches '^thresher: train.svm: step 0, objective .*, gradient 1 of that at 0, 0 products' err
matches '^thresher: train.svm: step 1, ' err

works "$THRESHER" info m.txt
matches '^model *linear ranking, 4 features$' out
matches '^largest *1: ' out
works "$THRESHER" info m.txt --json
matches '"kind":"ranking model","n_features":4,' out
(printf 'solver_type L2R_LR\nnr_class 2\nlabel 1 -1\nnr_feature 1\nbias -1\nw\n1\n') >classes.txt
fails 1 'classes.txt: line 3 has labels, so this is a model of classes' "$THRESHER" info classes.txt
printf 'solver_type of our dreams\n' >poem.txt
works "$THRESHER" info poem.txt
matches '^lines *1$' out

# a byte order mark before the rows is no part of them
(printf '\357\273\277' && cat train.svm) >marked.svm
works "$THRESHER" rank train marked.svm -o marked.txt
same m.txt marked.txt

# both kinds of files score alike, in the order of the file
works "$THRESHER" rank predict m.safetensors train.svm
cp out scores
works "$THRESHER" rank predict m.txt train.svm -o scores.txt
same scores scores.txt
[ "$(wc -l <scores)" -eq 240 ] || die "not one score per row"
sed 's/.* 1:\([^ ]*\) 2:\([^ ]*\) 3:\([^ ]*\) 4:\([^ ]*\) .*/\1 \2 \3 \4/' train.svm | paste -d ' ' - scores |
    awk 'FNR == NR { if (FNR > 5) w[FNR - 5] = $1; next }
        { s = w[1] * $1 + w[2] * $2 + w[3] * $3 + w[4] * $4; if ((s - $5) ^ 2 > 1e-10) { print "row " FNR ": " s; exit 1 } }' \
        m.txt - || die "scores are not the sums of weights and features"
works "$THRESHER" rank predict m.txt train.svm --json
is_json out
matches '^{"row":239,"score":' out

# a run: each query's rows by descending score, called by their comments
works "$THRESHER" rank predict m.safetensors train.svm -o run.trec
awk '$2 != "Q0" || $6 != "thresher" { print "line " FNR; exit 1 }
    $1 != q { q = $1; rank = 0; queries++ }
    { rank++; if ($4 != rank || (rank > 1 && $5 > last)) { print "line " FNR ": " $0; exit 1 } last = $5 }
    $3 !~ /^D[0-9]+$/ { print "name " $3; exit 1 }
    END { if (queries != 12 || FNR != 240) { print queries " queries"; exit 1 } }' run.trec || die "run.trec"
long=$(head -c 1000 /dev/zero | tr '\0' n)
printf '1 qid:1 1:1 # docid = %s\n0 qid:1 2:1 # %sb other\n' "$long" "$long" >long.svm
works "$THRESHER" rank predict m.safetensors long.svm -o long.trec
matches " $long [12] " long.trec
matches " ${long}b [12] " long.trec
printf '1 qid:1 1:1\n0 qid:2 1:3e38\n' >huge.svm
printf 'solver_type L2R_L2LOSS_RANKSVM\nnr_class 2\nnr_feature 1\nbias -1\nw\n1e300\n' >huge.model
fails 1 'huge.svm: row 1 (from 0) has a score of inf' "$THRESHER" rank predict huge.model huge.svm

# eval judges what predict writes
works "$THRESHER" rank eval m.safetensors train.svm --json
is_json out
cp out expected
works "$THRESHER" eval ndcg scores.txt train.svm --json
same out expected
works "$THRESHER" rank eval m.safetensors train.svm -k 3 --convention letor
fails 1 'missing.svm' "$THRESHER" rank eval m.safetensors missing.svm
printf '\223NUMPY\001\000v\000' >array.npy
fails 1 'array.npy: is a NumPy array: give labelled rows as SVMlight text' "$THRESHER" rank eval m.safetensors array.npy

# other ways to the same least
works "$THRESHER" rank train train.svm -o trust.txt --method trust-region -e 1e-9
works "$THRESHER" rank train train.svm -o line.txt -e 1e-9
tail -n +6 trust.txt | paste - line.txt >/dev/null
tail -n +6 line.txt >line.w
tail -n +6 trust.txt | paste -d ' ' - line.w |
    awk '($1 - $2) ^ 2 > 1e-14 { print; exit 1 }' || die "both methods end elsewhere"
works "$THRESHER" rank train train.svm -o sweep.txt --method sweep -e 1e-9
tail -n +6 sweep.txt | paste -d ' ' - line.w |
    awk '($1 - $2) ^ 2 > 1e-14 { print; exit 1 }' || die "sweeps end elsewhere"
fails 2 'sweeps.*sweep' "$THRESHER" rank train train.svm -o never.txt --method sweeps
works "$THRESHER" rank train train.svm -o warm.txt -e 1e-6 --start line.txt
matches '; 0 Newton steps, 0 products' err
same warm.txt line.txt
works "$THRESHER" rank train train.svm -o mean.txt --scale mean
works "$THRESHER" rank train train.svm -o query.txt --scale query

# weights: a row that is there twice, and one that is not, wherever the rows of its query are
awk '{ print NR % 7 == 0 ? 2 : NR % 11 == 0 ? 0 : 1 }' train.svm >weights.txt
awk 'NR % 7 == 0 { print } NR % 7 == 0 || NR % 11 != 0 { print }' train.svm >copies.svm
works "$THRESHER" rank train train.svm -o weighted.txt --weights weights.txt -e 1e-9
works "$THRESHER" rank train copies.svm -o copies.txt -e 1e-9
tail -n +6 weighted.txt >line.w
tail -n +6 copies.txt | paste -d ' ' - line.w |
    awk '($1 - $2) ^ 2 > 1e-14 { print; exit 1 }' || die "a weight of 2 is not a row that is there twice"
awk '{ print NR == 1 ? 3 : 1 }' RS='\n' weights.txt | head -12 >queries.txt
awk '/ qid:1 / { print; sub(/qid:1 /, "qid:101 "); print; sub(/qid:101 /, "qid:201 ") } { print }' train.svm >thrice.svm
works "$THRESHER" rank train train.svm -o weighted.txt --query-weights queries.txt -e 1e-9
works "$THRESHER" rank train thrice.svm -o thrice.txt -e 1e-9
tail -n +6 weighted.txt >line.w
tail -n +6 thrice.txt | paste -d ' ' - line.w |
    awk '($1 - $2) ^ 2 > 1e-14 { print; exit 1 }' || die "a weight of 3 is not a query that is there thrice"
head -3 weights.txt >short.txt
fails 1 'short.txt has 3 weights, train.svm has 240 rows: every row needs a weight' \
    "$THRESHER" rank train train.svm -o x --weights short.txt
fails 1 'short.txt has 3 weights, train.svm has 12 queries: every query needs a weight' \
    "$THRESHER" rank train train.svm -o x --query-weights short.txt
sed '5s/.*/-1/' weights.txt >negative.txt
fails 1 'row [0-9]* of 240 has a weight of -1: choose 0 or more' \
    "$THRESHER" rank train train.svm -o x --weights negative.txt
sed '5s/.*/heavy/' weights.txt >word.txt
fails 1 'word.txt: line 5 is not a weight: "heavy"' "$THRESHER" rank train train.svm -o x --weights word.txt

# folds choose a C
works "$THRESHER" rank train train.svm -o folds.txt -c 0.000001,0.1,10 --folds 4 --json
is_json out
matches '"folds":\[{"c":1e-06,"pairwise_accuracy":0.[0-9]*},{"c":0.1,.*{"c":10,' out
cp out expected
works "$THRESHER" rank train train.svm -o folds.txt -c 0.000001,0.1,10 --folds 4 --json --threads 1
sed 's/"read_s.*"folds"/"folds"/' out >a
sed 's/"read_s.*"folds"/"folds"/' expected >b
same a b

# steps that do not suffice
works "$THRESHER" rank train train.svm -o few.txt --steps 1 -e 1e-9
matches 'few.txt: the gradient is .* of that at 0, above --epsilon: raise --steps' err

# fewer features than the model: said; more: refused
printf '1 qid:1 1:1\n0 qid:1 1:0.5\n' >narrow.svm
works "$THRESHER" rank predict m.txt narrow.svm
matches 'narrow.svm has 1 feature, m.txt 4: those that are not there count as 0' err
printf '1 qid:1 9:1\n0 qid:1 1:0.5\n' >wide.svm
fails 1 'wide.svm: rows of 9 features for a model of 4' "$THRESHER" rank predict m.txt wide.svm
fails 1 'the initial model has 4 features, the rows have 9' "$THRESHER" rank train wide.svm -o x --start m.txt

# what cannot be learned from
printf '1 qid:1 1:1\n1 qid:1 1:2\n0 qid:2 1:3\n' >equal.svm
fails 1 'equal.svm: .*no pairs to learn from: in each of the 2 queries' "$THRESHER" rank train equal.svm -o x
printf '1 qid:1 1:1\n0 qid:2 1:2\n' >lonely.svm
fails 1 'lonely.svm: .*each of the 2 queries has one row' "$THRESHER" rank train lonely.svm -o x
printf '1 qid:1 1:1\n0 qid:1 1:1\n' >same.svm
fails 1 'same.svm: .*0 is the best model' "$THRESHER" rank train same.svm -o x
printf '1 qid:1 1:nan\n0 qid:1 1:1\n' >nan.svm
fails 1 'nan.svm' "$THRESHER" rank train nan.svm -o x
printf '1 1:1\n0 1:0\n' >plain.svm
fails 1 'plain.svm.*qid' "$THRESHER" rank train plain.svm -o x
works "$THRESHER" rank train plain.svm -o plain.txt --one-query

# a pipe beside the rows is no side file, and nobody waits for its writer
mkfifo plain.svm.query
works timeout 20 "$THRESHER" rank train plain.svm -o plain.txt --one-query
rm plain.svm.query

# weights whose squares are no numbers
printf 'solver_type L2R_L2LOSS_RANKSVM\nnr_class 2\nnr_feature 2\nbias -1\nw\n3e300\n4e300\n' >huge.txt
works "$THRESHER" info huge.txt
matches '^length  *5e+300$' out
printf 'solver_type L2R_L2LOSS_RANKSVM\nnr_class 2\nnr_feature 2\nbias -1\nw\n3e-300\n4e-300\n' >tiny.txt
works "$THRESHER" info tiny.txt
matches '^length  *5e-300$' out
: >empty.svm
fails 1 'empty.svm' "$THRESHER" rank train empty.svm -o x
fails 1 'missing.svm' "$THRESHER" rank train missing.svm -o x
fails 1 'pair.svm: .*3 folds of 1 queries with pairs' "$THRESHER" rank train pair.svm -o x --folds 3
[ ! -e x ] || die "a training that failed leaves a model"
fails 1 'no such file\|cannot' "$THRESHER" rank train pair.svm -o missing/x

# wrong words
fails 2 '"0" is not a number above 0' "$THRESHER" rank train pair.svm -o x -c 0
fails 2 '"-1" is not a number above 0' "$THRESHER" rank train pair.svm -o x -c -1
fails 2 '"nan" is not a number above 0' "$THRESHER" rank train pair.svm -o x -c nan
fails 2 '1,0.5 does not ascend' "$THRESHER" rank train pair.svm -o x -c 1,0.5 --folds 2
fails 2 '2 numbers need --folds' "$THRESHER" rank train pair.svm -o x -c 1,2
fails 2 'epsilon' "$THRESHER" rank train pair.svm -o x -e 0
fails 2 '-o MODEL is missing' "$THRESHER" rank train pair.svm
fails 2 'FILE' "$THRESHER" rank predict m.txt

# files that are no models
fails 1 'train.svm: line 1 is .*not the first line, a solver_type, of a LIBLINEAR model' \
    "$THRESHER" rank predict train.svm train.svm
head -7 m.txt >cut.txt
fails 1 'cut.txt: cut short: it ends after 2 of 4 weights' "$THRESHER" rank predict cut.txt train.svm
head -c 100 m.safetensors >cut.safetensors
fails 1 'cut.safetensors' "$THRESHER" rank predict cut.safetensors train.svm
fails 1 'missing.txt' "$THRESHER" rank predict missing.txt train.svm

# Stopped: nothing, or the best model so far. Features of scales that the trust region takes long for.
random_rows 6000 24 5 | awk '{
    printf "%d qid:%d", (NR * 7) % 97, NR % 6
    for (i = 1; i <= NF; i++) printf " %d:%.6g", i, $i * 10 ^ (i / 3)
    print ""
}' >slow.svm
if env --default-signal=INT true 2>/dev/null; then
    env --default-signal=INT "$THRESHER" rank train slow.svm -o slow.txt --method trust-region -e 1e-12 -c 100 \
        --steps 100000 2>err &
    sleep 0.5
    kill -s INT $! 2>/dev/null || true
    code=0
    wait $! || code=$?
    case $code in
    130)
        if grep -q 'slow.txt: stopped after .* Newton steps: the best model so far' err; then
            works "$THRESHER" rank predict slow.txt slow.svm
        else
            matches 'stopped; nothing was changed' err
            [ ! -e slow.txt ] || die "a model of no steps"
        fi
        ;;
    0) printf 'too fast to be stopped\n' ;;
    *) die "exit $code after SIGINT, expected 130" ;;
    esac
fi

# where the queries are looked for
printf '1 1:1\n0 1:0\n' >x.svm
echo 2 >x.query
fails 1 'there is no file x.svm.query: .*(--one-query ' "$THRESHER" rank train x.svm -o x.model
works "$THRESHER" info x.svm
matches '^queries     none: no line has a qid, and there is no file x.svm.query$' out

# a NUL byte is named
printf '1 qid:1 1:\0001\n' >nul.svm
fails 1 'nul.svm: line 1, column 11: a NUL byte is in this word: convert the text to UTF-8' \
    "$THRESHER" rank train nul.svm -o x.model

# a model that exists is named before it is replaced, but not where it is the start
works "$THRESHER" rank train pair.svm -o pair.model
matches '^thresher: pair.model exists: the model of this training replaces it$' err
works "$THRESHER" rank train pair.svm -o pair.model --start pair.model
! grep 'replaces it' err || die "a note on the start"

# a cache is of the bytes, not of the length and the time, of a file and of what is beside it
changed() { # changed FILE TEXT: the same time as before
    printf "%b" "$2" >"$1"
    touch -d @1000 "$1"
    works "$THRESHER" rank train t.svm --cache -o cached.model
    works "$THRESHER" rank train t.svm -o plain.model
    same cached.model plain.model
}
changed t.svm '1 qid:1 1:1\n2 qid:1 1:2\n'
changed t.svm '2 qid:1 1:1\n1 qid:1 1:2\n'
printf '1 1:1\n2 1:2\n1 1:3\n' >t.svm
changed t.svm.query '1\n2\n'
changed t.svm.query '2\n1\n'
