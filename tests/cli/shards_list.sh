#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The program and Python accept and refuse the same lists of shards: a table of wrong ones, in turn.
set -eu
. "$(dirname "$0")/lib.inc"

need_python

cat >cases.py <<'END'
import json
import re
import subprocess
import sys

import numpy as np
import thresher
from thresher import shards

x = np.random.default_rng(1).standard_normal((90, 8)).astype(np.float32)
ids = np.arange(90) * 2 + 1
shards.build("c", [(x[:40], ids[:40]), (x[40:], ids[40:])], calibration_queries=0).close()
place = "c/shards.json"
text = open(place).read()
given = json.loads(text)


def outer(key, value):
    return re.sub(rf'"{key}": [^,\n]*', lambda _: f'"{key}": {value}', text, count=1)


def inner(key, value):
    head, tail = text.split('"shards": [')
    return head + '"shards": [' + re.sub(rf'"{key}": [^,}}]*', lambda _: f'"{key}": {value}', tail, count=1)


# Numbers, texts and structure: each must be refused when the list is read.
unreadable = [
    *(outer(key, value) for key in ("n_dims", "bits", "n_items") for value in (
        "-0", "-1", "0", "1.0", "8e0", "1E1", "08", "+8", "0x8", "18446744073709551616", "1" + "0" * 5000, "true", "null", '"8"', "[8]",
        "NaN", "Infinity", "8 8", "")),
    *(inner(key, value) for key in ("first_row", "least_id", "greatest_id", "n_items") for value in (
        "-0", "-1", "0.0", "0e0", "00", "18446744073709551615", "18446744073709551616", "false", "null", '"0"', "{}")),
    *(outer("thresher_shards", value) for value in ("0", "3", "-1", "1.0", "true", '"1"', "null", "-0", "1" + "0" * 30)),
    *(outer("metric", value) for value in ('"Cosine"', '"cos\\u0069ne"', '"dot"', '""', "1", "null", '"cosine\\u0000"', '"cosine ')),
    *(outer("keep", value) for value in ('"f32"', '"float64"', '""', '"Float32"', "null", '"bfloat16"')),
    *(outer("quantiser", value) for value in ('"0"', '"' + "A" * 16 + '"', '"' + "g" * 16 + '"', "1", '"' + "0" * 17 + '"')),
    *(outer("has_ids", value) for value in ("1", '"true"', "True", "null", "truee", "tru")),
    *(inner("directory", value) for value in ('""', '".."', '"a/b"', '".a"', '"' + "a" * 64 + '"', '"a\\\\b"', '"\\u0061"', '"caf\u00e9"', "1")),
    *(inner("checksum", value) for value in ('""', '"x"', '"' + "G" * 16 + '"', '"' + "0" * 15 + '"', "0")),
    inner("least_id", "1000"),
    inner("first_row", "1"),
    outer("n_items", "91"),
    outer("n_items", "9223372036854775807"),
    text.replace(given["shards"][1]["directory"], given["shards"][0]["directory"]),
    text.replace('"metric"', '"metric": "cosine", "metric"'),
    text.replace('"metric"', '"more": 1, "metric"'),
    text.replace('"metric"', '"m\\u0065tric"'),
    text.replace('"metric"', "metric"),
    text.replace('"has_names"', '"n_cells": 1, "has_names"'),
    re.sub(r'  "bits": .*\n', "", text),
    re.sub(r', "checksum": "[0-9a-f]*"', "", text),
    text.replace('"directory"', '"directory": "a", "directory"', 1),
    text.replace('"directory"', '"n_rows": 1, "directory"', 1),
    re.sub(r'"shards": \[.*\]', '"shards": []', text, flags=re.S),
    re.sub(r'"shards": \[.*\]', '"shards": {}', text, flags=re.S),
    re.sub(r'"shards": \[.*\]', '"shards": [[]]', text, flags=re.S),
    re.sub(r'"shards": \[.*\]', '"shards": ' + "[" * 100000, text, flags=re.S),
    text + "x", text + "{}", text[:-3], text[: len(text) // 2], "", "{}", "[]", "null", "1", "{", text.replace("}", "},", 1),
    text.replace("\n  ]", ",\n  ]"), text.rstrip("}\n ") + ",}", "// list\n" + text, text.replace('"', "'"),
    "\ufeff" + text, text + "\0", text.replace("cosine", "cos\0ne"), text.replace("\n", "\v", 1), text.replace("\n", "\u00a0", 1),
]
readable = [text, text.replace("\n", ""), text.replace("\n", "\r\n\t "), json.dumps(given), json.dumps(given, sort_keys=True)]
raw = [text.encode("utf-16"), text.encode().replace(b"cosine", b"cos\xff\xfe"), text.encode() + b"\xc3", text.encode().replace(b"cosine", b"\xed\xa0\x80")]
# Right to read, wrong of these shards: `verify` refuses them.
wrong = [
    *(outer(key, value) for key, value in (("metric", '"l2"'), ("n_dims", "9"), ("bits", "2"), ("lead_bits", "1"), ("keep", '"float16"'),
      ("keep", '"none"'), ("quantiser", '"' + "0" * 16 + '"'), ("model", '"' + "1" * 16 + '"'), ("has_ids", "false"),
      ("has_names", "true"))),
    *(inner(key, value) for key, value in (("least_id", "0"), ("least_id", "2"), ("greatest_id", "78"), ("greatest_id", "80"),
      ("directory", '"gone"'), ("checksum", '"' + "0" * 16 + '"'))),
]


def accepts(verb):
    """Whether both accept it; an error of this script's if they differ, or if Python raises another kind of error."""
    done = subprocess.run([sys.argv[1], "index", verb, "c"], capture_output=True)
    assert done.returncode in (0, 1), done
    try:
        shards.read("c") if verb == "info" else shards.verify("c")
        by_python = True
    except (thresher.FormatError, thresher.MismatchError) as failure:
        by_python, why = False, failure
    shown = open(place, "rb").read()[:2000]
    assert by_python == (done.returncode == 0), f"Python {by_python}, the program {done.returncode} {done.stderr}: {shown!r}"
    return by_python


def put(content):
    with open(place, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())


for content in readable:
    put(content)
    assert accepts("info") and accepts("verify"), content
for content in (*unreadable, *raw):
    assert content not in readable, content
    put(content)
    assert not accepts("info"), content[:3000]
for content in wrong:
    assert content not in readable, content
    put(content)
    shards.read("c")
    assert not accepts("verify"), content
END
works python cases.py "$THRESHER"

# A list of 100,000 shards takes time in proportion to them; the first is not there.
cat >many.py <<'END'
import json

n = 100_000
listed = json.load(open("c/shards.json.kept"))
one = listed["shards"][0]
shards = [dict(one, directory=f"{i:06d}-00000000", first_row=i, n_items=1) for i in range(n)]
json.dump(dict(listed, n_items=n, shards=shards), open("c/shards.json", "w"))
END
works python -c '
import numpy, thresher.shards
x = numpy.ones((9, 8), "f")
thresher.shards.build("c", [(x, numpy.arange(9))], calibration_queries=0, replace=True).close()'
cp c/shards.json c/shards.json.kept
works python many.py
started=$(date +%s)
fails 1 'shard 0 of the collection is missing' "$THRESHER" index search c nothing.npy -k 1
[ $(($(date +%s) - started)) -le 20 ] || die "reading a list of 100,000 shards takes too long"
