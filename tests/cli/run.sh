#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ./run prints one sentence about wrong arguments or a wrong machine; ./run test counts, and fails as it counts.
set -eu
. "$(dirname "$0")/lib.inc"

# A tree of its own, at a path with a space, and a PATH on which there are only these tools and what each case adds.
: "${source_dir:?}" "${scratch:?}"
tree="$scratch/a tree"
mkdir -p "$tree/tools" bin
cp "$source_dir/run" "$tree"
cp "$source_dir/tools/packages" "$source_dir/tools/tally" "$tree/tools"
for tool in awk cat chmod cp date dirname grep head id mkdir mktemp nproc readlink rm sed sh sort tail touch tr uname; do
    ln -s "$(command -v $tool)" bin
done

# fake_tool NAME: installs a tool NAME that runs the script on standard input.
fake_tool() {
    { echo '#!/bin/sh' && cat; } >"bin/$1"
    chmod +x "bin/$1"
}

# refused CODE PATTERN ARGUMENT...: ./run ends with that code and one line that holds the pattern.
refused() {
    want=$1
    pattern=$2
    shift 2
    run env -i PATH="$scratch/bin" sh "$tree/run" "$@"
    [ "$code" -eq "$want" ] || die "exit $code, expected $want: ./run $*"
    [ "$(wc -l <err)" -eq 1 ] || die "not one line on standard error: ./run $*"
    matches "$pattern" err
}

refused 2 'no command "xyzzy": the commands are demo test bench' xyzzy
refused 2 'test takes nothing, or the word all, not "foo": ./run test, or ./run test all' test foo
refused 2 'not "all foo"' test all foo
refused 2 'install has only the option --prefix DIR, not --perfix' install --perfix /tmp
refused 2 '--prefix needs a directory' install --prefix
refused 2 'no bench "xyzzy": the benches are scan search' bench xyzzy
refused 2 'demo takes no arguments: x' demo x

# The help of benches in Python needs no compiler, no build and no numpy: -S hides installed modules.
if python=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null); then
    printf '#!/bin/sh\nexec "%s" -S "$@"\n' "$python" >bare-python
    chmod +x bare-python
    for bench in search promise promise-kept cold shards live xfbq papers tower tower-vectors rank-accuracy \
        head-peers head-translation ads ads-peers; do
        run env -i PATH="$scratch/bin" PYTHON="$scratch/bare-python" sh "$source_dir/run" bench $bench --help
        [ "$code" -eq 0 ] || die "exit $code: ./run bench $bench --help"
        matches "^usage: ./run bench $bench " out
    done
fi

# Neither Debian nor its tools.
refused 1 'please install a C compiler, cmake, ninja or make by hand' test
fake_tool ninja </dev/null
fake_tool cc </dev/null
refused 1 'please install cmake by hand' test all
echo 'echo cmake version 3.18.4' | fake_tool cmake
refused 2 'this is cmake version 3.18.4, and 3.22 is needed' test
fake_tool cmake <<'END'
case $1 in
--version) echo cmake version 3.22.1 ;;
*) echo "cmake $*" >>"$HOME/calls" ;;
esac
END
touch "$tree/build"
refused 2 'a tree/build cannot be written: delete it' test
rm "$tree/build"

# Debian without a network: required packages are named; optional ones are left out.
for tool in dpkg-query apt-cache; do
    echo 'exit 1' | fake_tool $tool
done
echo 'echo "E: Could not resolve deb.debian.org"; exit 100' | fake_tool apt-get
[ "$(id -u)" -eq 0 ] || echo 'shift; "$@"' | fake_tool sudo
run env -i PATH="$scratch/bin" sh "$tree/run" test
[ "$code" -eq 1 ] || die "exit $code without a network"
matches '^packages: could not install libc6-dev libxxhash-dev (E: Could not resolve deb.debian.org); please do so by hand' err
[ "$(wc -l <err)" -eq 2 ] || die "not two lines without a network"
[ ! -e "$tree/build/packages-not-there" ] || die "packages are remembered as missing after a network failure"
rm bin/dpkg-query bin/apt-cache bin/apt-get

# A compiler that CC names and is not there.
run env -i PATH="$scratch/bin" CC=no-such-cc sh "$tree/run" demo
[ "$code" -eq 1 ] || die "exit $code for CC=no-such-cc"
matches 'please install a C compiler by hand' err

# Counting: tests that pass, fail and are skipped, in both builds; output of failed tests.
fake_tool cc </dev/null
fake_tool ctest <<'END'
cat <<'LINES'
      Start  1: unit.a
 1/3 Test  #1: unit.a ...........................   Passed    7.25 sec
      Start  2: unit.b
 2/3 Test  #2: unit.b ...........................***Skipped   0.01 sec
      Start  3: unit.c
LINES
case " $FAILING " in
*" $2 "*)
    echo ' 3/3 Test  #3: unit.c ...........................***Failed    0.01 sec'
    echo 'output of c'
    exit 8
    ;;
*" $2:crash "*) echo 'cannot start'; exit 1 ;;
esac
echo ' 3/3 Test  #3: unit.c ...........................   Passed    0.01 sec'
END
# counted CODE LAST-LINE FAILING...
counted() {
    want=$1
    last=$2
    shift 2
    (cd / && env -i HOME="$scratch" PATH="$scratch/bin" FAILING="$*" sh "$tree/run" test) >out 2>err && code=0 || code=$?
    [ "$code" -eq "$want" ] || die "exit $code, expected $want"
    [ "$(tail -n 1 out)" = "$last" ] || die "the last line is not '$last'"
}
echo 'exit 0' | fake_tool cc
# can_run builds build/can-run with cc and runs it; here there is nothing to run, so that the smoke is left out
counted 0 '2 passed, 0 failed, 1 skipped'
matches '^Left out: AddressSanitizer' out
# shellcheck disable=SC2016 # for the fake tool
echo 'while [ "$1" != -o ]; do shift; done; cp "$HOME/bin/ok" "$2"' | fake_tool cc
fake_tool ok </dev/null
counted 0 '4 passed, 0 failed, 2 skipped'
grep -A 2 '^The slowest tests' out >slowest
matches '^ *7.2[0-9]*  unit.a (quick)$' slowest
matches '^ *7.2[0-9]*  unit.a (smoke)$' slowest
counted 1 '3 passed, 1 failed, 2 skipped' quick
matches '^output of c$' out
matches '^failed: unit.c; again: ctest --preset quick -R' out
counted 1 '3 passed, 1 failed, 2 skipped' smoke:crash
matches 'ctest failed: cannot start' out

# A build that fails is a failure, in a line of its own; the compiler's output is shown.
fake_tool cmake <<'END'
case $* in
--version) echo cmake version 3.22.1 ;;
'--build --preset quick'*) echo '[1/2] Building'; echo 'a.c:1: error'; exit 1 ;;
esac
END
counted 1 '2 passed, 1 failed, 1 skipped'
matches '^failed: build/quick' out
matches '^a.c:1: error' err
! grep -q '^\[1/2\]' err || die "the progress of the build is shown"
