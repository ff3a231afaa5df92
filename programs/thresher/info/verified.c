/* SPDX-License-Identifier: Apache-2.0 */
#include "info/verified.h"

#include "cli/json.h"
#include "cli/messages.h"
#include "output/plain.h"

const prog_option prog_no_options[1] = {PROG_OPTIONS_END};

void prog_print_verified(const program *run, const char *kind, const char *path, uint64_t bytes, double start) {
    const double seconds = prog_seconds() - start;

    prog_progress_end();
    if (run->globals.json) {
        prog_json json = prog_json_object();

        prog_json_key_text(&json, kind, path);
        prog_json_key_bool(&json, "sound", true);
        prog_json_key_count(&json, "file_bytes", bytes);
        prog_json_key_real(&json, "verify_s", seconds);
        prog_json_end_object(&json);
    } else {
        prog_line("%s is sound: all checksums of %s are right, read in %s", path, prog_bytes((double)bytes).text,
                  prog_time(seconds).text);
    }
}
