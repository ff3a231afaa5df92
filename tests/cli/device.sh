#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --device: GPUs where there are none, and what is said then.
set -eu
. "$(dirname "$0")/lib.inc"

# The library for GPUs is a file that is not there, so that every machine has none.
THR_CUDA_LIBRARY=$PWD/no-such-library.so
export THR_CUDA_LIBRARY
why='no GPU can be used: .*/no-such-library.so could not be loaded'

# What is asked for by name and not there is a failure; which words are wrong is tested in words.sh.
for words in cuda cuda:0 cuda:1,0; do
    fails 1 "$why" "$THRESHER" info --device $words
    fails 1 "$why" "$THRESHER" index info nothing --device=$words
done
