#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Outputs: never an input, nor a file of another kind; links stay, and lead on; two writers at once; nothing left over.
#
# THR_ROUNDS=N has two processes write each kind of output at once, N times.
set -eu
. "$(dirname "$0")/lib.inc"
# shellcheck disable=SC2154 # cli_dir is lib.inc's
. "$cli_dir/dictionary.inc"
: "${THR_ROUNDS:=1}"

random_rows 200 8 1 | to_fbin >rows.fbin
random_rows 150 8 2 | to_fbin >queries.fbin
dictionary le chat chien . >small.safetensors
awk 'BEGIN {
    for (i = 0; i < 300; i++) print "item" i "\tcolour=" i % 7 " size=" i % 11 >"items.tsv"
    for (i = 0; i < 120; i++) print i % 3 " qid:" int(i / 20) " 1:" i % 3 + i % 7 / 10 " 2:" i % 5 >"rows.svm"
    for (i = 0; i < 120; i++) print "word" i % 20 " text" i % 9 "\tword" i % 20 " and number" i >"pairs.tsv"
    for (i = 0; i < 20; i++) print "ad" i "\tbrand=" i % 5 " item=" i >"ads.tsv"
    for (i = 0; i < 120; i++) print "age=" i % 3 "\tad" i % 20 ":1 ad" (i + 7) % 20 ":2" >"requests.tsv"
    for (i = 0; i < 60; i++) print i % 2 ? "le chat ." : "le chien ." >"text.fr"
    for (i = 0; i < 60; i++) print "colour=" i % 7 >"asked.txt"
}'

# Each writes to the file of -o; the arguments after it are a variant's.
small="--dims 8 --pooled 8 --batch 16 --negatives 4 --epochs 1 -q"
dual="--kind dual --items ads.tsv --embedding 4 --hidden 4 --dims 4 --products 2 --batch 16 --epochs 1 -q"
index() { "$THRESHER" index build rows.fbin -q "$@"; }
hits() { "$THRESHER" hits build items.tsv -q --force "$@"; }
head_of() { "$THRESHER" head build rows.fbin --places 2 -q --force "$@"; }
# shellcheck disable=SC2086 # words
tower() { "$THRESHER" tower train pairs.tsv $small "$@"; }
# shellcheck disable=SC2086 # words
tower_dual() { "$THRESHER" tower train requests.tsv $dual "$@"; }
ranker() { "$THRESHER" rank train rows.svm -q "$@"; }
answers() { "$THRESHER" index search x.index queries.fbin -q "$@"; }
found() { "$THRESHER" hits search x.hits asked.txt -q "$@"; }
words() { "$THRESHER" head query x.head queries.fbin -q "$@"; }
# shellcheck disable=SC2120 # every gives arguments
scores() { "$THRESHER" rank predict x.model rows.svm -q "$@"; }
vectors() { "$THRESHER" tower encode x.safetensors pairs.tsv:2 -q "$@"; }
users() { "$THRESHER" tower encode dual.safetensors requests.tsv --side query -q "$@"; }
translations() { "$THRESHER" translate small.safetensors text.fr -q "$@"; }

index -o x.index >out
hits -o x.hits >out
head_of -o x.head >out
tower -o x.safetensors
tower_dual -o dual.safetensors
ranker -o x.model

# ---------------------------------------------------------------------------------------------------------- refused

# refuses PATTERN FILE COMMAND...: the work is not begun, and the file stays as it is.
refuses() {
    pattern=$1
    kept=$2
    shift 2
    cp "$kept" before
    fails 1 "$pattern" "$@"
    same "$kept" before
}

ln rows.svm hard.svm
ln -s rows.svm soft.svm
for name in rows.svm ./rows.svm hard.svm soft.svm "$PWD/rows.svm"; do
    refuses 'is also the input rows.svm, which it would replace' rows.svm ranker -o "$name"
    refuses 'is also the input rows.svm, which it would replace' rows.svm scores -o "$name"
done
rm hard.svm soft.svm
cp pairs.tsv valid.tsv
refuses 'is also the input pairs.tsv' pairs.tsv tower -o pairs.tsv
refuses 'is also the input valid.tsv' valid.tsv tower -o valid.tsv --valid valid.tsv
refuses 'is also the input requests.tsv' requests.tsv tower_dual -o requests.tsv
refuses 'is also the input ads.tsv' ads.tsv tower_dual -o ads.tsv
refuses 'is also the input items.tsv' items.tsv hits -o items.tsv
refuses 'is also the input rows.fbin' rows.fbin head_of -o rows.fbin
refuses 'is also the input x.model' x.model scores -o x.model
refuses 'is also the input text.fr' text.fr translations -o text.fr
refuses 'is also the input small.safetensors' small.safetensors translations -o small.safetensors
refuses 'is also the input requests.tsv' requests.tsv users -o new.fvecs --hits requests.tsv
cp queries.fbin q.fvecs
cp asked.txt asked.jsonl
refuses 'is also the input asked.jsonl' asked.jsonl "$THRESHER" hits search x.hits asked.jsonl -o asked.jsonl
# shellcheck disable=SC2016 # the inner shell expands
refuses 'is also the input -.tsv' items.tsv sh -c '"$THRESHER" hits build -.tsv -o items.tsv --force <items.tsv'
fails 1 'new.fvecs: is already the output of --states: choose another name' \
    "$THRESHER" translate small.safetensors text.fr -o new.fvecs --states new.fvecs

# What a command reads or writes beside the files it is given, too.
sed 's/ qid:[0-9]*//' rows.svm >plain.svm
awk 'BEGIN { for (i = 0; i < 6; i++) print 20 }' >plain.svm.query
plain() { "$THRESHER" rank predict x.model "$@" -q; }
refuses 'is also the input plain.svm.query' plain.svm.query plain plain.svm -o ./plain.svm.query
gzip -c plain.svm >packed.svm.gz
gzip -c plain.svm.query >packed.svm.query.gz
refuses 'is also the input packed.svm.query.gz' packed.svm.query.gz plain packed.svm.gz -o packed.svm.query.gz
refuses 'is also the input plain.svm.query' plain.svm.query "$THRESHER" rank train plain.svm -q -o plain.svm.query
fails 1 'rows.svm.thr-cache: is the cache of rows.svm' scores --cache -o "$PWD/rows.svm.thr-cache"
[ ! -e rows.svm.thr-cache ] || die "a refused command wrote a cache"
[ ! -e new.fvecs ] && [ ! -e new.safetensors ] || die "a refused command wrote something"

# What is of another kind stays, whether --force is given or not; an empty file is replaced.
cp x.hits other.hits
for name in x.index/MANIFEST x.head other.hits items.tsv x.model; do
    refuses 'exists and is not a model of text towers' "$name" tower -o "$name" --valid valid.tsv
done
printf 'notes\n' >notes
refuses 'exists and is not a ranking model' notes ranker -o notes
refuses 'exists and is not a ranking model' x.index/MANIFEST ranker -o x.index/MANIFEST
refuses 'exists and is not a ranking model' x.safetensors ranker -o x.safetensors
refuses 'exists and is not a file of posting lists' notes hits -o notes
refuses 'exists and is not a head' notes head_of -o notes
refuses 'exists and is not a dual tower' x.safetensors tower_dual -o x.safetensors
mkdir folder
for command in hits head_of tower ranker scores translations; do
    fails 1 'folder: is a directory' $command -o folder
done
for output in folder /dev/full; do
    fails 1 "$output: is " "$THRESHER" hits build items.tsv -o $output
    ! grep -q 'exists already' err || die "hits build would replace $output"
    fails 1 "$output: is " "$THRESHER" head build rows.fbin --places 2 -o $output
    ! grep -q 'exists already' err || die "head build would replace $output"
done
for command in hits head_of tower ranker; do
    : >empty
    works $command -o empty
    [ -s empty ] || die "$command does not replace an empty file"
done
works "$THRESHER" rank train rows.svm -o x.model --start x.model
leaves_nothing

# ---------------------------------------------------------------------------------------------------------- links

# Each kind of output: a name, the command, and what its two variants differ by. Those that two writers make at once are
# the same bytes each time.
kinds='hits|new.hits||--order rows
head_of|new.head|--bands 2|--bands 3 --planes 0
tower|new.safetensors|--seed 1|--seed 2 --pooled 10
tower_dual|dual2.safetensors|--seed 1|--seed 2 --hidden 5
ranker|new.model|-c 1|-c 0.1
ranker|ranker.safetensors|-c 1|-c 0.1
answers|new.jsonl|-k 3|-k 9
answers|new.ivecs|-k 3|-k 9
found|found.trec|-k 3|-k 9
words|words.jsonl|-k 3|-k 9
scores|new.scores||--json
scores|scores.trec||--cache
vectors|new.npy||--side query
vectors|new.u8bin|--packed|--packed --side query
users|users.fvecs|--hits users.hits|--hits users.hits
translations|new.en||--json'

# every FUNCTION: calls it with the command, the output and both variants of each kind.
every() {
    echo "$kinds" | while IFS='|' read -r command output one other; do
        "$1" "$command" "$output" "$one" "$other" </dev/null || exit 1
    done || exit 1
}

# A link at the output stays, and the file that it names is written, whether it exists or not. A link at the name that
# outputs once had until they were whole is not followed.
follow() {
    mkdir elsewhere
    ln -s "elsewhere/$2" link
    ln -s "$PWD/link" "$2"
    ln -s victim "$2.tmp"
    for round in absent present; do
        # shellcheck disable=SC2086 # words
        works "$1" -o "$2" $3
        [ -L "$2" ] && [ -L link ] && [ -s "elsewhere/$2" ] || die "$1 did not write the $round file behind a link"
        [ "$(ls -A elsewhere)" = "$2" ] || die "$1 left something behind a link"
    done
    [ "$(cat victim)" = mine ] && [ -L "$2.tmp" ] || die "$1 followed a link at $2.tmp"
    rm -r "$2" "$2.tmp" link elsewhere
}

# A link to an open file of a process is no name of a file: the output goes through it, or is refused.
through() {
    [ -e /proc/self/fd/1 ] || return 0
    mkdir dir
    ln -s /proc/self/fd/1 "dir/$2"
    ln -s "dir/$2" "link.$2"
    for name in "dir/$2" "link.$2"; do
        # shellcheck disable=SC2086 # words
        if "$1" -o "$name" $3 >redirected 2>err; then
            [ -s redirected ] || die "$1 lost what it wrote to $name"
        else
            grep -q "$name: is \(an open file of a process\|not a plain file\)" err || die "$1 -o $name: another message: $(cat err)"
            [ ! -s redirected ] || die "$1 wrote to $name, and failed"
        fi
        [ -L "dir/$2" ] && [ -L "link.$2" ] && [ "$(ls -A dir)" = "$2" ] || die "$1 replaced the link $name"
    done
    rm -r dir "link.$2" redirected
}
printf 'mine\n' >victim
every follow
every through
if [ -e /proc/self/fd/1 ]; then
    {
        echo first
        scores -o /proc/self/fd/3 3>&1
        echo last
    } >redirected
    [ "$(sed -n '1p;$p' redirected | tr '\n' ' ')" = 'first last ' ] && [ "$(wc -l <redirected)" -eq 122 ] ||
        die "an open file of the shell lost lines"
fi
ln -s made.index link.index
works index -o link.index
[ -L link.index ] && [ -e made.index/MANIFEST ] || die "an index is not made where a link names it"
works index -o link.index --force
[ -L link.index ] || die "a link to an index was replaced"
rm -r link.index made.index redirected
rm users.hits
ln -s users.names users.hits
users -o users.fvecs --hits users.hits
[ -L users.hits ] && [ -s users.names ] || die "--hits did not write the file behind a link"
ln -s victim rows.svm.thr-cache
ln -s victim rows.svm.thr-cache.tmp
works scores --cache
ln -s victim x.index/MANIFEST.tmp
works index -o x.index --force
[ "$(cat victim)" = mine ] || die "a link was followed"
rm -f users.* rows.svm.thr-cache* new.safetensors x.index/MANIFEST.tmp

# ---------------------------------------------------------------------------------------------------------- two writers

# The file that stays is one of the two, whole. Of two trainings of a tower one may be refused while the other runs.
race() {
    # shellcheck disable=SC2086 # words
    "$1" -o "$2" $3 >out && mv "$2" one && "$1" -o "$2" $4 >out && mv "$2" other
    n=0
    while [ $n -lt "$THR_ROUNDS" ]; do
        # shellcheck disable=SC2086 # words
        "$1" -o "$2" $3 >out.one 2>err.one &
        # shellcheck disable=SC2086 # words
        "$1" -o "$2" $4 >out 2>err && two=0 || two=$?
        wait $! && one=0 || one=$?
        [ $one -eq 0 ] || matches 'another training writes this model' err.one
        [ $two -eq 0 ] || matches 'another training writes this model' err
        [ $one -eq 0 ] || [ $two -eq 0 ] || die "$1: both writers were refused, round $n"
        cmp -s "$2" one || cmp -s "$2" other || die "$2 is damaged by two writers, round $n"
        n=$((n + 1))
    done
    rm -f "$2"
}
every race
leaves_nothing

# Of two builds of an index one is refused or both follow each other; a cache that two make at once is no one's failure.
n=0
scores >wanted
while [ $n -lt "$THR_ROUNDS" ]; do
    index -o raced.index --force --bits 2 >out.one 2>err.one &
    index -o raced.index --force --bits 3 >out 2>err || matches 'another writer is at work' err
    wait $! || matches 'another writer is at work' err.one
    works "$THRESHER" index verify raced.index
    rm -f rows.svm.thr-cache
    "$THRESHER" rank predict x.model rows.svm --cache >got.one 2>err.one &
    works "$THRESHER" rank predict x.model rows.svm --cache
    wait $! || die "a prediction with a cache beside another one fails"
    [ ! -s err ] && [ ! -s err.one ] || die "a cache was not written beside another one: $(cat err.one)"
    same out wanted
    same got.one wanted
    works "$THRESHER" rank predict x.model rows.svm --cache
    same out wanted
    n=$((n + 1))
done
leaves_nothing

# ---------------------------------------------------------------------------------------------------------- caches

# Nothing needs a cache: if it cannot be written there is a note, and the answer is the same.
rm rows.svm.thr-cache
mkdir rows.svm.thr-cache
works "$THRESHER" rank predict x.model rows.svm --cache
same out wanted
matches '^thresher: no cache was written: rows.svm.thr-cache: is a directory' err
works scores --cache
[ ! -s err ] || die "-q prints something"
rmdir rows.svm.thr-cache
# shellcheck disable=SC2016 # the inner shell expands
works sh -c '(ulimit -f 1 && exec "$THRESHER" rank predict x.model rows.svm --cache) | cat'
same out wanted
matches 'no cache was written: rows.svm.thr-cache: cannot write: File too large' err
leaves_nothing

# ---------------------------------------------------------------------------------------------------------- leftovers

# What a writer that died left goes with the next; what only looks like it stays.
: >.new.hits.0123456789abcdef.tmp
printf 'mine\n' >new.hits.tmp
printf 'mine\n' >.other.hits.0123456789abcdef.tmp
works hits -o new.hits
[ ! -e .new.hits.0123456789abcdef.tmp ] || die "a leftover stays"
[ "$(cat new.hits.tmp .other.hits.0123456789abcdef.tmp)" = "mine
mine" ] || die "a file of the user's was taken for a leftover"

# A model that is cut while it is used is named, and the output under way is deleted.
rm new.hits.tmp .other.hits.0123456789abcdef.tmp
cp x.safetensors cut.safetensors
mkfifo pipe
"$THRESHER" tower encode cut.safetensors -.txt -o cut.npy <pipe >out 2>err &
exec 3>pipe
n=0
while [ -z "$(find . -name '.cut.npy.*.tmp')" ] && [ $n -lt 200 ]; do
    sleep 0.05
    n=$((n + 1))
done
: >cut.safetensors
echo 'word1 and number' >&3
exec 3>&-
code=0
wait $! || code=$?
[ "$code" -eq 1 ] || die "exit $code with a model that was cut"
grep -q '^thresher: cut.safetensors: changed since it was opened (.*): it was truncated; restore or rebuild it' err ||
    die "another message"
leaves_nothing

# So is a file that is cut elsewhere: only a signal shows it.
works scores --cache
mkfifo weights.txt
"$THRESHER" rank train rows.svm --cache --weights weights.txt -o cut.model >out 2>err &
exec 3>weights.txt
: >rows.svm.thr-cache
awk 'BEGIN { for (i = 0; i < 120; i++) print 1 }' >&3
exec 3>&-
code=0
wait $! || code=$?
[ "$code" -eq 1 ] || die "exit $code with a cache that was cut"
grep -qx 'thresher: .*/rows.svm.thr-cache: was cut short while it was being read: restore it or make it again' err ||
    die "another message"
leaves_nothing
