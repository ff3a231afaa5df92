#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Manual, completion and docs/cli.md come from the option tables; docs/cli.md in the tree is the one of this program.
set -eu
. "$(dirname "$0")/lib.inc"
: "${source_dir:?}"

for what in man markdown bash-completion zsh-completion fish-completion; do
    works "$THRESHER" --generate "$what"
    [ -s out ] || die "--generate $what writes nothing"
    [ ! -s err ] || die "--generate $what prints something"
    cp out "$what"
    if [ "$what" = man ]; then
        grep '^## ' "$source_dir/docs/cli.md" | grep thresher >commands
        while read -r _ _ words; do
            # shellcheck disable=SC2086 # the command's words
            works "$THRESHER" $words --generate man
            cat out >>pages
            matches "It Xr thresher.-$(echo "$words" | tr ' ' -) 1" man
        done <commands
        cp pages out
    fi
    for option in query-bits segment-items truth-distances; do
        tr -d '\\' <out | grep -q -- "$option" || die "--$option is not in $what"
    done
done
fails 2 'did you mean man?' "$THRESHER" --generate mann

cmp -s markdown "$source_dir/docs/cli.md" ||
    die "docs/cli.md is not what the program writes; run: thresher --generate markdown > docs/cli.md"

if command -v mandoc >/dev/null 2>&1; then
    mandoc -T lint -W warning man >lint 2>&1 || die "the manual: $(cat lint)"
    [ ! -s lint ] || die "the manual: $(cat lint)"
fi
if command -v bash >/dev/null 2>&1; then
    bash -n bash-completion || die "bash does not read its completion"
    cat >try.bash <<'END'
. ./bash-completion
try() {
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _thresher 2>/dev/null; echo "${COMPREPLY[*]}"
}
try thresher in
try thresher --threads 2 index ""
try thresher index build --met
try thresher index build --metric ""
try thresher index build --metric = co
try thresher info --device c
END
    bash try.bash >tried || die "bash completion fails"
    cat >expected <<'END'
info index
build create search info verify tune add upsert remove compact
--metric
cosine ip l2
cosine
cpu cuda
END
    same tried expected
fi
if command -v zsh >/dev/null 2>&1; then
    zsh -n zsh-completion || die "zsh does not read its completion"
fi
if command -v fish >/dev/null 2>&1; then
    fish -n fish-completion || die "fish does not read its completion"
fi
