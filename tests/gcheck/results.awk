# SPDX-License-Identifier: Apache-2.0
#
# results.awk - figures, as gcheck --json, gprobe and tools/gpu-check print them, to results/gpu.csv or, with -v page=1,
# to the tables of docs/gpu.md.
#
# usage: awk [-v page=1] -f results.awk FILE...     (no figures: none has a value, "not yet measured")
BEGIN {
    FS = "\""
    NONE = "not yet measured"
    SCALE_ITEMS = 1.2e9
    VECTORS = 8.8e6
    CODES = "scale.most scale.fewer recall.nested3 recall.flat3 recall.flat4 recall.flat1"
    title["limit"] = "limits"
    title["scale.most"] = "64 d, 2 x 3 bits, most items"
    title["scale.fewer"] = "64 d, 2 x 3 bits, 1.2 G items"
    title["recall.nested3"] = "200 d, 3 x 4 bits, one leading plane, recall@10 0.99"
    title["recall.flat3"] = "200 d, 3 x 4 bits, recall@10 0.99"
    title["recall.flat4"] = "200 d, 4 x 4 bits, recall@10 0.99"
    title["recall.flat1"] = "200 d, 1 x 4 bits, recall@10 0.99"
    title["baseline"] = "200 d, cuBLAS product and best 10"
    title["learn"] = "a step of a text tower, by operation"
    title["hits"] = "posting lists, 5 M items, best 100"
    title["both"] = "posting lists with codes of 64 d, 2 bits, best 100"
    title["sparse"] = "cuSPARSE, 5 M x 200,000 in CSR"
    title["cells"] = "cells, best 10, recall 0.95"
    title["heads"] = "a head, 40,000 x 1000"
    title["rank"] = "RankSVM, shape of MSLR-WEB30K"
    title["translate"] = "translation, beam 12"
    title["dual"] = "training of a dual tower"
}

$2 == "figure" && $6 == "value" {
    gsub(/[: }]/, "", $7)
    v[$4] = $7 + 0
}
$2 == "figure" && $6 == "text" {
    w[$4] = $8
    if ($4 ~ /^step\./)
        steps[n_steps++] = substr($4, 6)
}

function has(name) { return name in v && v[name] != "" }

function csv(text) { return text ~ /[",]/ ? "\"" text "\"" : text }

function three(x) { return sprintf(x >= 100 ? "%.0f" : x >= 10 ? "%.1f" : x >= 1 ? "%.2f" : "%.3f", x) }

function scaled(x) { return x >= 1e9 ? three(x / 1e9) " G" : three(x / 1e6) " M" }

function device() { return "probe.device" in w ? w["probe.device"] : w["device.name"] }

function csv_row(what, way, setting, unit, value, target,    commit) {
    commit = match(w["run.commit"], /^[0-9a-f]+/) ? substr(w["run.commit"], 1, RLENGTH) : ""
    if (!page)
        print csv(device()) "," w["run.date"] "," commit ",gpu," csv(what) "," csv(way) "," \
              csv(setting) "," unit "," value ",," target
}

# ------------------------------------------------------------------------------------------------- targets

# A figure with a target, >= least or <= most. value is in unit, or "". normal: whether it is of the size that the target
# is for. search: whose answers must have been the CPU's, or "".
function target(what, way, setting, unit, value, least, most, normal, search,    met, shown, bound) {
    bound = least != "" ? ">= " least : "<= " most
    met = search == "" || (has(search ".compared") && !v[search ".wrong"])
    csv_row(what, way, setting, unit, met ? value : "", bound)
    if (!page)
        return
    shown = value == "" ? NONE : three(value) (unit == "ratio" ? "" : " " unit)
    met = value == "" ? "-" : (least == "" || value >= least) && (most == "" || value <= most) ? "yes" : "**no**"
    if (value != "" && !normal)
        met = "other size"
    if (value != "" && search != "" && !has(search ".compared")) {
        met = "-"
        shown = shown ", answers not compared"
    }
    if (search != "" && v[search ".wrong"] > 0) {
        met = "**no**"
        shown = shown ", **answers differ**"
    }
    printf "| %s: %s, %s | %s%s | %s | %s |\n", what, way, setting, bound, (unit == "ratio" ? "" : " " unit), shown, met
}

# The faster of two kinds of codes, of those that reach the recall.
function best_kind(    i, kinds, best) {
    split("recall.nested3 recall.flat3", kinds, " ")
    for (i = 1; i <= 2; i++)
        if (has(kinds[i] ".one_s") && v[kinds[i] ".recall"] >= 0.99 && (!best || v[kinds[i] ".one_s"] < v[best ".one_s"]))
            best = kinds[i]
    return best ? best : "none"
}

function fastest_batch(name,    b, best) {
    for (b = 1; b <= 256; b *= 4)
        if (v[name ".batch." b "_per_s"] > best + 0)
            best = v[name ".batch." b "_per_s"]
    return best
}

# a over b, times scale; "" where one is not known.
function ratio(a, b, scale) { return has(a) && has(b) ? scale * v[a] / v[b] : "" }

# The same where both are of as many vectors.
function over(kind, a, b, scale) { return v["baseline.items"] == v[kind ".items"] ? ratio(a, b, scale) : "" }

function sized(words, name, normal) {
    return has(name) && v[name] < 0.999 * normal ? words ", here of " scaled(v[name]) " items" : words
}

# Memory beyond codes as they are on disk, records and vectors, and the workspace, as a share of what is stored, in %.
function worst_memory(    i, n, names, name, stored, x, worst) {
    worst = ""
    n = split(CODES, names, " ")
    for (i = 1; i <= n; i++) {
        name = names[i]
        if (has(name ".device_bytes")) {
            stored = v[name ".code_bytes"] + v[name ".row_bytes"]
            x = 100 * (v[name ".device_bytes"] - stored - v[name ".workspace_bytes"]) / stored
            worst = worst == "" || x > worst ? x : worst
        }
    }
    return worst
}

function targets(    x, i, kind, normal) {
    x = has("scale.most.one_s") ? ratio("scale.most.code_bytes", "limit.read_bytes_per_s", 1 / v["scale.most.one_s"]) : ""
    target(title["scale.most"], "bytes/s over a plain read's", "one query", "ratio", x, 0.85, "", 1, "scale.most")
    normal = v["scale.fewer.items"] > 0.999 * SCALE_ITEMS
    kind = sized(title["scale.fewer"], "scale.fewer.items", SCALE_ITEMS)
    x = has("scale.fewer.one_s") ? 1e3 * v["scale.fewer.one_s"] : ""
    target(kind, "time", "one query, top 1000", "ms", x, "", 5.5, normal, "scale.fewer")
    target(kind, "queries", "in batches", "/s", fastest_batch("scale.fewer"), 3000, "", normal, "scale.fewer")
    kind = best_kind()
    normal = v[kind ".items"] == VECTORS
    x = has(kind ".one_s") ? 1e3 * v[kind ".one_s"] : ""
    target(sized(title["recall.flat3"], kind ".items", VECTORS), "time", "one query", "ms", x, "", 0.4, normal, kind)
    target(title["recall.flat3"], "over cuBLAS in float32", "one query", "ratio",
           over(kind, "baseline.f32.1_s", kind ".one_s", 1), 8, "", normal, kind)
    for (i = 4; i >= 1; i -= 3) {
        kind = "recall.flat" i
        target(title[kind], "over cuBLAS in half precision", "64 queries", "ratio",
               has("baseline.f16.64_s") && v["baseline.items"] == v[kind ".items"] && has(kind ".batch.64_per_s") ? \
                   v["baseline.f16.64_s"] * v[kind ".batch.64_per_s"] / 64 : "", 4, "", v[kind ".items"] == VECTORS, kind)
    }
    target(title["hits"], "over a product of cuSPARSE", "200 features", "ratio", ratio("sparse.spmv_s", "hits.200.auto_s", 1),
           8, "", v["hits.items"] == 5000000, "hits")
    target(title["both"], "time", "200 features", "ms", has("both.one_s") ? 1e3 * v["both.one_s"] : "", "", 0.12,
           v["both.items"] == 5000000, "both")
    target(title["rank"], "over our CPU, all threads", "solving", "ratio", ratio("rank.cpu_s", "rank.trees_s", 1), 40, "",
           v["rank.rows"] == 2300000, "rank")
    target("codes", "memory beyond codes and workspace", "the most of all", "%", worst_memory(), "", 1, 1, "")
}

# ------------------------------------------------------------------------------------------------- figures

# A row for each of the figures name.KEY, the unit taken from the end of the key.
function figures(name, keys,    i, n, list, key, setting, unit, top, text) {
    n = split(keys, list, " ")
    for (top = name; !(top in title);)
        sub(/\.[^.]*$/, "", top)
    for (i = 1; i <= n; i++) {
        key = name "." list[i]
        setting = name == top ? list[i] : substr(name, length(top) + 2) " " list[i]
        unit = sub(/_bytes_per_s$/, "", setting) ? "B/s" : sub(/_per_s$/, "", setting) ? "/s" : \
               sub(/_s$/, "", setting) ? "s" : sub(/_bytes$/, "", setting) ? "B" : "count"
        gsub(/[._]/, " ", setting)
        text = key in w ? key : name "." setting # why there is no figure
        csv_row(title[top], key ~ /cpu/ ? "CPU" : "GPU", setting (text in w ? ", " w[text] : ""), unit, v[key], "")
    }
}

function all_figures(    i, n, names, batches, stages, ways) {
    figures("limit", "read_bytes_per_s copy_bytes_per_s popc32_per_s lop3_per_s xor_popc_add_per_s dp4a_mac_per_s " \
            "mma_s8_mac_per_s wmma_s8_mac_per_s wgmma_s8_mac_per_s mma_b1_and_per_s mma_b1_xor_per_s wgmma_b1_and_per_s")
    batches = "batch.4_per_s batch.16_per_s batch.64_per_s batch.256_per_s"
    stages = "sample_s threshold_s screen_s select_s rescore_s refine_s count_s copies_s host_s"
    ways = "1_per_s 2_per_s 4_per_s 8_per_s 16_per_s"
    n = split(CODES, names, " ")
    for (i = 1; i <= n; i++) {
        figures(names[i], "items compared wrong one_s " batches " code_bytes row_bytes device_bytes workspace_bytes upload_s")
        if (names[i] ~ /recall/)
            figures(names[i], "recall survivors candidates")
        figures(names[i] ".stage", stages)
        figures(names[i] ".xor", ways)
        figures(names[i] ".tile", ways)
    }
    figures("baseline", "items f32.1_s f32.64_s f16.1_s f16.64_s")
    figures("learn", "texts wrong gather_s windows_s fill_rows_s product_s layer_s lstm_s attend_s plane_s residual_s " \
            "match_s plane_back_s residual_back_s sum_rows_s windows_back_s adam_rows_s adam_s")
    figures("hits", "items compared wrong list_bytes workspace_bytes")
    for (i = 20; i <= 1000; i *= i == 20 ? 10 : 5)
        figures("hits." i, "postings lists_s tiles_s auto_s batch_per_s cpu_s")
    figures("both", "items compared wrong one_s batch_per_s codes_s cpu_s")
    figures("sparse", "spmv_s")
    figures("cells", "items dims cells screened_share compared wrong")
    n = split("1 64 256 filter", names, " ")
    for (i = 1; i <= n; i++)
        figures("cells." names[i], "gpu_per_s cpu_per_s rounds screen_s select_s copies_s host_s")
    figures("heads", "words wrong head_bytes workspace_bytes")
    n = split("full frequent wta planes", names, " ")
    for (i = 1; i <= n; i++)
        figures("heads." names[i], "candidates one_s beam_s cpu_s hash_s look_up_s list_s product_s normalise_s best_s copies_s")
    figures("rank", "rows features compared wrong trees_s sweeps_s cpu_s sparse_s sparse_cpu_s trees_product_s " \
            "sweeps_product_s cpu_product_s sparse_product_s sparse_cpu_product_s copied_s sparse_copied_s")
    figures("translate", "texts words")
    n = split("full wta", names, " ")
    for (i = 1; i <= n; i++)
        figures("translate." names[i], "gpu_s cpu_s encoder_s layers_s head_s expansion_s reorder_s")
    figures("dual", "requests gpu_per_s cpu_per_s")
}

# ---------------------------------------------------------------------------------------------------- page

function machine(    text) {
    if (device() == "") {
        print "No GPU has been measured yet."
        return
    }
    text = device() ("device.capability" in w ? ", compute capability " w["device.capability"] : "")
    text = text ("run.driver" in w ? ", driver " w["run.driver"] : "") ("run.compiler" in w ? ", " w["run.compiler"] : "")
    print text (has("host.threads") ? "; host: " v["host.threads"] " threads, " w["host.level"] : "") "."
    if ("run.command" in w)
        printf "`%s`, %s, commit %s.\n", w["run.command"], w["run.date"], w["run.commit"]
    if (w["device.name"] ~ /emulator/)
        print "**The device is an emulator: its times mean nothing.**"
}

function what_was_run(    i) {
    print "\n| step | result |"
    print "|---|---|"
    for (i = 0; i < n_steps; i++)
        printf "| %s | %s |\n", steps[i], w["step." steps[i]]
    if (n_steps == 0)
        printf "| all | %s |\n", NONE
    if (has("test.compared"))
        printf "| queries compared with the CPU | %d in %d of %d rounds, %d searches different |\n",
               v["test.compared"], v["test.rounds"], v["test.rounds_planned"], v["test.failed"]
}

END {
    if (page) {
        machine()
        print "\n| figure | target | measured | met |"
        print "|---|---|---|---|"
        targets()
        what_was_run()
    } else {
        print "machine,date,commit,subject,case,system,setting,unit,value,spread,target"
        targets()
        all_figures()
    }
}
