/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thresher.h - everything: score all items cheaply, a few exactly, and return them ranked.
 *
 * Start at index.h: thr_context_create, thr_reader_open, thr_index_build, thr_index_open, thr_index_search.
 *
 * Options: begin with a struct of zeros (`= {0}`) and set fields; a field that is 0, NULL or false means its default,
 * which its comment gives. NULL instead of options means all defaults.
 *
 * Versions: a program runs only with the minor version that it was compiled for; compile it again for another one.
 * Structs may change with every minor version, so the shared library's name has major and minor version
 * (libthresher.so.0.1), and the loader refuses any other. Patch versions change no struct and no number.
 */
#ifndef THRESHER_THRESHER_H
#define THRESHER_THRESHER_H

#include <thresher/align.h>
#include <thresher/beam.h>
#include <thresher/context.h>
#include <thresher/device.h>
#include <thresher/dual.h>
#include <thresher/filter.h>
#include <thresher/guard.h>
#include <thresher/head.h>
#include <thresher/hits.h>
#include <thresher/index.h>
#include <thresher/index_change.h>
#include <thresher/index_writer.h>
#include <thresher/items.h>
#include <thresher/matrix.h>
#include <thresher/metric.h>
#include <thresher/output.h>
#include <thresher/rank.h>
#include <thresher/ranking.h>
#include <thresher/shards.h>
#include <thresher/status.h>
#include <thresher/tower.h>
#include <thresher/translate.h>
#include <thresher/way.h>
#include <thresher/words.h>

#endif
