/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard.h - survive a file that another program cuts while it is mapped.
 *
 * Reading a byte of a mapped file that is no longer there raises SIGBUS, which ends the process. Searches check their
 * files first, so this happens only if a file is cut during a search. A program that must not end installs the guard.
 */
#ifndef THRESHER_GUARD_H
#define THRESHER_GUARD_H

#include <thresher/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Install a handler of SIGBUS for the process. If a file of an open index (a segment, posting lists, the bitmap of live
 * items) or an open file of posting lists is cut or cannot be read, its bytes read as zeros, and the call returns
 * THR_ECHANGED with the file's name, as do all later calls on the index or the lists; look-ups without a status find
 * nothing. So does opening a file that is cut meanwhile. A change of the index fails before it commits. Every other
 * SIGBUS goes to the handler that was installed before. If another handler is found in its place when a file is opened
 * or a search begins, this one is installed again, before the other one.
 *
 * Call it before indexes are opened; files that are mapped already are not guarded. May be called again, from any
 * thread. Heads, models, also that of an index, and files that a build or a training reads are not guarded. At most
 * 4,096 files are guarded; further ones are not.
 *
 * Returns THR_OK; THR_EUNSUPPORTED if the host does not allow handlers.
 */
THR_API thr_status thr_guard_files(thr_error *err);

#ifdef __cplusplus
}
#endif

#endif
