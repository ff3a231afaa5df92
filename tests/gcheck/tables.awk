# SPDX-License-Identifier: Apache-2.0
#
# tables.awk - figures, as gcheck --json, gprobe and tools/gpu-check print them, to the tables of docs/gpu.md.
#
# usage: awk -f tables.awk FILE...     (no figures: every one is "not yet measured")
BEGIN {
    FS = "\""
    NONE = "not yet measured"
    SCALE_ITEMS = 1.2e9
    VECTORS = 8.8e6
    KINDS = "scale.most scale.fewer recall.nested3 recall.flat3 recall.flat4 recall.flat1"
    WORDS = "64 d, 2 x 3 bits, most items|64 d, 2 x 3 bits, fewer items|200 d, 3 x 4 bits, one leading plane|" \
            "200 d, 3 x 4 bits|200 d, 4 x 4 bits|200 d, 1 x 4 bits"
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

# ------------------------------------------------------------------------------------------------- numbers

function has(name) { return name in v && v[name] != "" }

function three(x) {
    return sprintf(x >= 100 ? "%.0f" : x >= 10 ? "%.1f" : x >= 1 ? "%.2f" : "%.3f", x)
}

# 1.23 G and the unit.
function scaled(x, unit,    i, sizes, letters) {
    split("1e12 1e9 1e6 1e3", sizes, " ")
    split("T G M k", letters, " ")
    for (i = 1; i <= 4; i++)
        if (x >= sizes[i] + 0)
            return three(x / sizes[i]) " " letters[i] unit
    return three(x) (unit ~ /^ / ? "" : " ") unit
}

function thousands(x,    text) {
    text = sprintf("%.0f", x)
    while (match(text, /[0-9][0-9][0-9][0-9](,|$)/))
        text = substr(text, 1, RSTART) "," substr(text, RSTART + 1)
    return text
}

function ms(name) { return has(name) ? three(v[name] * 1e3) " ms" : NONE }

function share(a, b) { return b > 0 ? sprintf("%.2f", a / b) : "-" }

# ------------------------------------------------------------------------------------------------- targets

# A row. value is a number or "", shown what is printed of it; normal: whether it is of the size that the target is for.
# search: whose answers must have been the CPU's, or "".
function target(what, wanted, value, least, most, shown, normal, search,    met) {
    met = (least == "" || value >= least) && (most == "" || value <= most) ? "yes" : "**no**"
    if (!normal)
        met = "other size"
    if (value == "") {
        met = "-"
        shown = NONE
    }
    if (value != "" && search != "" && !has(search ".compared")) {
        met = "-"
        shown = shown ", answers not compared"
    }
    if (search != "" && v[search ".wrong"] > 0) {
        met = "**no**"
        shown = shown ", **answers differ**"
    }
    printf "| %s | %s | %s | %s |\n", what, wanted, shown, met
}

function sized(words, name, normal) {
    return has(name) && v[name] < 0.999 * normal ? words ", here " scaled(v[name], " items") : words
}

# The faster of two kinds of codes, of those that reach the recall.
function best_kind(    i, kinds, best) {
    split("recall.nested3 recall.flat3", kinds, " ")
    best = ""
    for (i = 1; i <= 2; i++)
        if (has(kinds[i] ".one_s") && v[kinds[i] ".recall"] >= 0.99)
            if (best == "" || v[kinds[i] ".one_s"] < v[best ".one_s"])
                best = kinds[i]
    return best == "" ? "none" : best
}

function fastest_batch(name,    b, best) {
    best = ""
    for (b = 1; b <= 256; b *= 4)
        if (has(name ".batch." b "_per_s") && v[name ".batch." b "_per_s"] > best + 0)
            best = v[name ".batch." b "_per_s"]
    return best
}

# What cuBLAS takes over what a search takes; "" where one is not known, or they are of different numbers of vectors.
function over(kind, baseline, seconds) {
    if (!has("baseline." baseline) || v["baseline.items"] != v[kind ".items"] || seconds == "")
        return ""
    return v["baseline." baseline] / seconds
}

# Memory beyond codes as they are on disk, records and vectors, and the workspace, as a share of what is stored.
function beyond(name,    stored) {
    stored = v[name ".code_bytes"] + v[name ".row_bytes"]
    return (v[name ".device_bytes"] - stored - v[name ".workspace_bytes"]) / stored
}

function scale_targets(    x, words) {
    x = ""
    if (has("scale.most.one_s") && has("limit.read_bytes_per_s"))
        x = v["scale.most.code_bytes"] / v["scale.most.one_s"] / v["limit.read_bytes_per_s"]
    words = "64 d, 2-bit items x 3-bit queries, as many items as fit, up to 4 G"
    if (has("scale.most.items"))
        words = words " (" scaled(v["scale.most.items"], "") ")"
    target(words ": bytes/s of one query over the measured read bandwidth", ">= 0.85", x, 0.85, "",
           sprintf("%.2f", x), 1, "scale.most")
    words = sized("the same at 1.2 G items", "scale.fewer.items", SCALE_ITEMS)
    x = has("scale.fewer.one_s") ? v["scale.fewer.one_s"] : ""
    target(words ": one query, top 1000", "<= 5.5 ms", x, "", 5.5e-3, ms("scale.fewer.one_s"),
           v["scale.fewer.items"] > 0.999 * SCALE_ITEMS, "scale.fewer")
    x = fastest_batch("scale.fewer")
    target(words ": batched queries/s", ">= 3,000", x, 3000, "", thousands(x),
           v["scale.fewer.items"] > 0.999 * SCALE_ITEMS, "scale.fewer")
}

function recall_targets(    x, i, kind) {
    kind = best_kind()
    x = has(kind ".one_s") ? v[kind ".one_s"] : ""
    target(sized("200 d, 3 x 4 bits, 8.8 M items", kind ".items", VECTORS) \
           ": one query, top 10 at recall@10 >= 0.99 with refine", "<= 0.4 ms", x, "", 4e-4, ms(kind ".one_s"),
           v[kind ".items"] == VECTORS, kind)
    x = over(kind, "f32.1_s", x)
    target("the same: speed over a cuBLAS float32 product + top-k, one query", ">= 8", x, 8, "", three(x),
           v[kind ".items"] == VECTORS, kind)
    for (i = 4; i >= 1; i -= 3) {
        kind = "recall.flat" i
        x = has(kind ".batch.64_per_s") ? over(kind, "f16.64_s", 64 / v[kind ".batch.64_per_s"]) : ""
        target(i "-bit codes, batch 64, 8.8 M x 200: speed over a cuBLAS half-precision product + top-k", ">= 4", x, 4,
               "", three(x), v[kind ".items"] == VECTORS, kind)
    }
}

function hits_targets(    x) {
    x = has("sparse.spmv_s") && has("hits.200.auto_s") ? v["sparse.spmv_s"] / v["hits.200.auto_s"] : ""
    target("5 M items, 200 features: posting lists over a prepared product of cuSPARSE", ">= 8", x, 8, "", three(x),
           v["hits.items"] == 5000000, "hits")
    target("the same items with codes of 64 d, 2 bits: one query in one pass, best 100", "<= 120 us", v["both.one_s"], "",
           120e-6, micros("both.one_s"), v["both.items"] == 5000000, "both")
}

function rank_targets(    x) {
    x = has("rank.cpu_s") && has("rank.trees_s") ? v["rank.cpu_s"] / v["rank.trees_s"] : ""
    target("RankSVM of the shape of MSLR-WEB30K: speed over our own CPU, solving only", ">= 40", x, 40, "", three(x),
           v["rank.rows"] == 2300000, "rank")
}

function targets(    i, n, names, worst) {
    print "| figure | target | measured | met |"
    print "|---|---|---|---|"
    scale_targets()
    recall_targets()
    hits_targets()
    rank_targets()
    worst = ""
    n = split(KINDS, names, " ")
    for (i = 1; i <= n; i++)
        if (has(names[i] ".device_bytes") && (worst == "" || beyond(names[i]) > worst))
            worst = beyond(names[i])
    target("device memory beyond codes and the stated workspace, the most of all searches here", "<= 1 %", worst, "",
           0.01, sprintf("%.2f %%", worst * 100), 1, "")
}

# -------------------------------------------------------------------------------------------------- limits

function limit(name, words, unit,    shown) {
    name = "limit." name
    shown = has(name) ? scaled(v[name], unit) : name in w ? w[name] : NONE
    printf "| %s | %s |\n", words, shown
}

function limits() {
    print "| limit | measured |"
    print "|---|---|"
    limit("read_bytes_per_s", "memory, read by a kernel", "B/s")
    limit("copy_bytes_per_s", "memory, copied by the runtime, read and written", "B/s")
    limit("popc32_per_s", "popcounts of 32 bits", "/s")
    limit("lop3_per_s", "LOP3 of 32 bits", "/s")
    limit("xor_popc_add_per_s", "XOR, popcount, add with a shift", "/s")
    limit("dp4a_mac_per_s", "dp4a, multiplications of bytes", "/s")
    limit("mma_s8_mac_per_s", "mma m16n8k32, multiplications of bytes", "/s")
    limit("wmma_s8_mac_per_s", "wmma m16n16k16, multiplications of bytes", "/s")
    limit("wgmma_s8_mac_per_s", "wgmma m64n128k32, multiplications of bytes", "/s")
    limit("mma_b1_and_per_s", "mma m16n8k256, AND and count of bits", "/s")
    limit("mma_b1_xor_per_s", "mma m16n8k256, XOR and count of bits", "/s")
    limit("wgmma_b1_and_per_s", "wgmma m64n128k256, AND and count of bits", "/s")
}

# ------------------------------------------------------------------------------------------------ searches

# Popcounts of n words of all planes and some bits of a query: of every weight, what full adders leave, and carry.
function left_over(n, planes, bits,    weight, first, end, words, adders, left) {
    adders = left = 0
    for (weight = 0; weight < planes + bits - 1 || adders > 0; weight++) {
        first = weight < bits ? 0 : weight - bits + 1
        end = weight < planes ? weight + 1 : planes
        words = (first < end ? (end - first) * n : 0) + adders
        adders = int((words - 1) / 2)
        left += words - 2 * adders
    }
    return left
}

# The same of an item and a query, whose words and bits are taken as src/cuda/tiles.cuh takes them.
function popcounts(dims, planes, bits,    words, step, bit, left) {
    step = planes == 1 ? 4 : planes <= 4 ? 2 : 1
    for (words = int((dims + 31) / 32); words > 0; words -= step)
        for (bit = 0; bit < bits; bit += 4)
            left += left_over(words < step ? words : step, planes, bits - bit < 4 ? bits - bit : 4)
    return left
}

# Popcounts and products of bytes that a way of its own would take, over what the device does of each.
function work(seconds, dims, planes, bits, items,    counts, products) {
    counts = popcounts(dims, planes, bits) * items / seconds
    products = dims * items / seconds
    return share(counts, v["limit.popc32_per_s"]) " | " share(products, fastest_products())
}

function fastest_products() {
    return v["limit.wgmma_s8_mac_per_s"] > v["limit.mma_s8_mac_per_s"] ? v["limit.wgmma_s8_mac_per_s"] \
                                                                      : v["limit.mma_s8_mac_per_s"]
}

# planes: of the blocks, which the screen reads.
function search(name, words, dims, planes, bits,    b, rate) {
    if (has(name ".recall")) {
        if (name ~ /nested/)
            words = words ", " thousands(v[name ".survivors"]) " survivors"
        words = words ", " thousands(v[name ".candidates"]) " candidates, recall " sprintf("%.4f", v[name ".recall"])
    }
    if (!has(name ".one_s")) {
        printf "| %s | | | %s | | | |\n", words, NONE
        return
    }
    printf "| %s | %s | 1 | %s | %s | %s |\n", words, scaled(v[name ".items"], ""), ms(name ".one_s"),
           share(v[name ".code_bytes"] / v[name ".one_s"], v["limit.read_bytes_per_s"]),
           work(v[name ".one_s"], dims, planes, bits, v[name ".items"])
    for (b = 4; b <= 256; b *= 4)
        if (has(name ".batch." b "_per_s")) {
            rate = v[name ".batch." b "_per_s"]
            printf "| | | %d | %s queries/s | | %s |\n", b, (rate >= 100 ? thousands(rate) : three(rate)),
                   work(1 / rate, dims, planes, bits, v[name ".items"])
        }
}

function searches() {
    print "| search | items | at once | measured | codes read, of the bandwidth | popcounts, of the limit |" \
          " products of bytes, of the limit |"
    print "|---|---|---|---|---|---|---|"
    search("scale.most", "64 d, 2 x 3 bits, k = 1,000", 64, 2, 3)
    search("scale.fewer", "the same", 64, 2, 3)
    search("recall.nested3", "200 d, 3 x 4 bits, one leading plane, k = 10, refined", 200, 1, 4)
    search("recall.flat3", "200 d, 3 x 4 bits, k = 10, refined", 200, 3, 4)
    search("recall.flat4", "200 d, 4 x 4 bits, k = 10, refined", 200, 4, 4)
    search("recall.flat1", "200 d, 1 x 4 bits, k = 10, refined", 200, 1, 4)
}

function stage_row(words, s, queries) {
    if (has(s "screen_s"))
        printf "| %s | %d | %s | %s | %s | %s | %s | %s | %s ms | %s |\n", words, queries, ms(s "sample_s"),
               ms(s "threshold_s"), ms(s "screen_s"), ms(s "select_s"), ms(s "rescore_s"), ms(s "refine_s"),
               three((v[s "count_s"] + v[s "copies_s"]) * 1e3), ms(s "host_s")
    else if (queries == 1)
        printf "| %s | | | | %s | | | | | |\n", words, NONE
}

function stages(    i, n, names, words) {
    n = split(KINDS, names, " ")
    split(WORDS, words, "|")
    print "| search | at once | sample | thresholds | screen | choosing | rescore | refine | counts, copies | host |"
    print "|---|---|---|---|---|---|---|---|---|---|"
    for (i = 1; i <= n; i++) {
        stage_row(words[i], names[i] ".stage.", 1)
        stage_row("", names[i] ".stage.batch_", 64)
    }
}

function ways(    i, n, names, words) {
    n = split(KINDS, names, " ")
    split(WORDS, words, "|")
    print "| search | way | 1 at once | 2 | 4 | 8 | 16 |"
    print "|---|---|---|---|---|---|---|"
    for (i = 2; i <= n; i++) {
        way_row(words[i], names[i] ".xor.", "XOR and popcount")
        way_row("", names[i] ".tile.", "products")
    }
}

function way_row(words, name, way,    b) {
    printf "| %s | %s", words, way
    for (b = 1; b <= 16; b *= 2)
        printf " | %s", has(name b "_per_s") ? thousands(v[name b "_per_s"]) : b == 1 ? NONE : ""
    print " |"
}

# ------------------------------------------------------------------------------------- baselines and memory

function baselines(    i, n, names, words) {
    n = split("f32.1_s f32.64_s f16.1_s f16.64_s", names, " ")
    split("float32, one query|float32 or TF32, 64 queries|half precision, one query|half precision, 64 queries", words,
          "|")
    print "| cuBLAS product + best 10, " (has("baseline.items") ? scaled(v["baseline.items"], " x 200") : "8.8 M x 200") \
          " | measured |"
    print "|---|---|"
    for (i = 1; i <= n; i++)
        printf "| %s | %s |\n", words[i], ms("baseline." names[i])
}

function memory(    i, n, names, words, name) {
    n = split(KINDS, names, " ")
    split(WORDS, words, "|")
    print "| codes | on disk | an item | records, vectors | on the device | workspace | beyond all | copied at |"
    print "|---|---|---|---|---|---|---|---|"
    for (i = 1; i <= n; i++) {
        name = names[i]
        if (has(name ".device_bytes"))
            printf "| %s | %s | %.2f B | %s | %s | %s | %.2f %% | %s |\n", words[i], scaled(v[name ".code_bytes"], "B"),
                   v[name ".code_bytes"] / v[name ".items"], scaled(v[name ".row_bytes"], "B"),
                   scaled(v[name ".device_bytes"], "B"), scaled(v[name ".workspace_bytes"], "B"), 100 * beyond(name),
                   scaled((v[name ".code_bytes"] + v[name ".row_bytes"]) / v[name ".upload_s"], "B/s")
        else
            printf "| %s | | | | %s | | | |\n", words[i], NONE
    }
}

# ------------------------------------------------------------------------------------------------ training

function training(    i, n, names, words, name, text) {
    if (has("learn.texts")) {
        text = v["learn.wrong"] > 0 ? "; **answers differ**" : ""
        printf "A batch of %s texts%s.\n\n", thousands(v["learn.texts"]), text
    }
    print "| operation | measured |"
    print "|---|---|"
    n = split("gather windows fill_rows product layer lstm attend plane residual match plane_back residual_back sum_rows windows_back " \
              "adam_rows adam", names, " ")
    split("words, sums of the table's rows|windows, their maximum and tanh|a layer's bias|a layer's product, by cuBLAS|" \
          "a layer, sums in the CPU's order|LSTM cells|attention|" \
          "a plane|a residual|the loss and its gradients|back through a plane|back through a residual|" \
          "a bias's gradient|back to the words|a step of the table's rows|a step of a layer", words, "|")
    for (i = 1; i <= n; i++) {
        name = "learn." names[i]
        text = has(name "_s") ? three(v[name "_s"] * 1e6) " us" : name in w ? w[name] : NONE
        printf "| %s | %s |\n", words[i], text
    }
}

# ------------------------------------------------------------------------------------------- posting lists

function micros(name) {
    return has(name) ? three(v[name] * 1e6) " us" : NONE
}

function features(    i, n, sizes, name, text) {
    if (has("hits.items")) {
        text = v["hits.wrong"] > 0 ? "; **answers differ**" : ""
        printf "%s items, %s on the device, workspace %s%s.\n\n", thousands(v["hits.items"]), \
               scaled(v["hits.list_bytes"], "B"), scaled(v["hits.workspace_bytes"], "B"), text
    }
    print "| one query, best 100 | postings | list by list | tile by tile | the way that is chosen | 64 at once | the CPU |"
    print "|---|---|---|---|---|---|---|"
    n = split("20 200 1000", sizes, " ")
    for (i = 1; i <= n; i++) {
        name = "hits." sizes[i]
        printf "| %s features | %s | %s | %s | %s | %s | %s |\n", thousands(sizes[i]), \
               has(name ".postings") ? thousands(v[name ".postings"]) : "", micros(name ".lists_s"), \
               micros(name ".tiles_s"), micros(name ".auto_s"), \
               has(name ".batch_per_s") ? thousands(v[name ".batch_per_s"]) " queries/s" : NONE, micros(name ".cpu_s")
    }
    print "\n| with codes of 64 d, 2 bits, in one pass | one query | 16 at once | codes alone, one query | both by the CPU |"
    print "|---|---|---|---|---|"
    text = v["both.wrong"] > 0 ? "; **answers differ**" : ""
    printf "| %s200 features, best 100%s | %s | %s | %s | %s |\n", \
           has("both.items") ? thousands(v["both.items"]) " items, " : "", text, micros("both.one_s"), \
           has("both.batch_per_s") ? thousands(v["both.batch_per_s"]) " queries/s" : NONE, micros("both.codes_s"), \
           micros("both.cpu_s")
    text = has("sparse.spmv_s") ? micros("sparse.spmv_s") : "sparse.spmv" in w ? w["sparse.spmv"] : NONE
    print "\ncuSPARSE, a prepared product of 5 M x 200,000 in CSR with 200 weights, sums alone: " text "."
}

# --------------------------------------------------------------------------------------------------- cells

function per_second(name) {
    return has(name) ? (v[name] >= 100 ? thousands(v[name]) : three(v[name])) " queries/s" : NONE
}

function cells(    i, j, n, m, cases, words, parts, text) {
    if (has("cells.items")) {
        text = v["cells.wrong"] > 0 ? "; **answers differ**" : has("cells.compared") ? "" : "; answers not compared"
        if (has("cells.screened_share"))
            text = "; a search screens " three(v["cells.screened_share"] * 100) " % of the items" text
        printf "%s items of %d dimensions, %s cells%s.\n\n", thousands(v["cells.items"]), v["cells.dims"], \
               thousands(v["cells.cells"]), text
    }
    print "| best 10, recall .95 | GPU | the CPU | of the GPU's: rounds | screen | choosing | copies | host |"
    print "|---|---|---|---|---|---|---|---|"
    n = split("1 64 256 filter", cases, " ")
    split("one query|64 queries at once|256 queries at once|64 at once, of one row in four", words, "|")
    m = split("screen select copies host", parts, " ")
    for (i = 1; i <= n; i++) {
        text = "cells." cases[i]
        printf "| %s | %s | %s | %s |", words[i], per_second(text ".gpu_per_s"), per_second(text ".cpu_per_s"), \
               has(text ".rounds") ? three(v[text ".rounds"]) : NONE
        for (j = 1; j <= m; j++)
            printf " %s |", ms(text "." parts[j] "_s")
        print ""
    }
}

# --------------------------------------------------------------------------------------------------- heads

function heads(    i, j, n, m, screens, parts, name, text) {
    if (has("heads.words")) {
        text = v["heads.wrong"] > 0 ? "; **answers differ**" : ""
        printf "%s words, %s on the device, workspace %s%s.\n\n", thousands(v["heads.words"]), \
               scaled(v["heads.head_bytes"], "B"), scaled(v["heads.workspace_bytes"], "B"), text
    }
    print "| screen | candidates | one state | 12 states | the CPU, 12 states | hash | look-up | list | product | normalise | best | copies |"
    print "|---|---|---|---|---|---|---|---|---|---|---|---|"
    n = split("full frequent wta planes", screens, " ")
    m = split("one beam cpu hash look_up list product normalise best copies", parts, " ")
    for (i = 1; i <= n; i++) {
        name = "heads." screens[i]
        printf "| head, `%s` | %s |", screens[i], has(name ".candidates") ? thousands(v[name ".candidates"]) : ""
        for (j = 1; j <= m; j++)
            printf " %s |", micros(name "." parts[j] "_s")
        print ""
    }
    print "\nThe steps are of 12 states that share their candidates, each waited for; so together they take longer than a query."
}

# ------------------------------------------------------------------------------------------------- ranking

function seconds_of(name) {
    return has(name) ? three(v[name]) " s" : NONE
}

function ranking(    i, n, kinds, words, text) {
    if (has("rank.rows")) {
        text = v["rank.wrong"] > 0 ? "; **answers differ**" : ""
        printf "%s rows of %s features%s.\n\n", thousands(v["rank.rows"]), v["rank.features"], text
    }
    print "| RankSVM, to 1e-5 of the first gradient | solving | a product with the Hessian |"
    print "|---|---|---|"
    n = split("trees sweeps cpu sparse sparse_cpu", kinds, " ")
    split("trees over levels|sweeps, as published|the CPU, all threads|sparse rows, one number in ten|" \
          "sparse rows, the CPU", words, "|")
    for (i = 1; i <= n; i++)
        printf "| %s | %s | %s |\n", words[i], seconds_of("rank." kinds[i] "_s"), micros("rank." kinds[i] "_product_s")
    print "\nRows are copied to the device before, once: " seconds_of("rank.copied_s") ", sparse " \
          seconds_of("rank.sparse_copied_s") "."
}

# ------------------------------------------------------------------------------- translation and training

function whole(    i, j, n, m, screens, parts, text) {
    if (has("translate.texts")) {
        text = v["whole.wrong"] > 0 ? "; **answers differ**" : ""
        printf "%s texts at once, a beam of 12, %s target words; %s requests of dual towers%s.\n\n", \
               thousands(v["translate.texts"]), thousands(v["translate.words"]), thousands(v["dual.requests"]), text
    }
    print "| translation with screen | GPU | the CPU | of the GPU's: encoder | layers, attention | head | expansion | reorder |"
    print "|---|---|---|---|---|---|---|---|"
    n = split("full wta", screens, " ")
    m = split("gpu cpu encoder layers head expansion reorder", parts, " ")
    for (i = 1; i <= n; i++) {
        printf "| translation, `%s` |", screens[i]
        for (j = 1; j <= m; j++)
            printf " %s |", ms("translate." screens[i] "." parts[j] "_s")
        print ""
    }
    print "\n| training | GPU | the CPU |"
    print "|---|---|---|"
    printf "| dual towers, requests/s | %s | %s |\n", has("dual.gpu_per_s") ? thousands(v["dual.gpu_per_s"]) : NONE, \
           has("dual.cpu_per_s") ? thousands(v["dual.cpu_per_s"]) : NONE
}

# ---------------------------------------------------------------------------------------------------- page

function machine(    text) {
    if (!("device.name" in w) && !("probe.device" in w)) {
        print "No GPU has been measured yet."
        return
    }
    text = "probe.device" in w ? w["probe.device"] : w["device.name"]
    if ("device.capability" in w)
        text = text ", compute capability " w["device.capability"] ", " v["device.multiprocessors"] \
               " multiprocessors, " scaled(v["device.memory_bytes"], "B")
    if ("run.driver" in w)
        text = text "; driver " w["run.driver"]
    if ("device.driver_cuda" in w)
        text = text ", for CUDA " w["device.driver_cuda"]
    if ("run.compiler" in w)
        text = text "; " w["run.compiler"]
    if (has("host.threads"))
        text = text "; host: " v["host.threads"] " threads, " w["host.level"]
    print text "."
    if ("run.command" in w)
        printf "`%s`, %s, commit %s.\n", w["run.command"], w["run.date"], w["run.commit"]
    if (w["device.name"] ~ /emulator/)
        print "**The device is an emulator: its times say nothing.**"
}

function what_was_run(    i) {
    print "| step | result |"
    print "|---|---|"
    for (i = 0; i < n_steps; i++)
        printf "| %s | %s |\n", steps[i], w["step." steps[i]]
    if (n_steps == 0)
        printf "| all | %s |\n", NONE
    if (has("test.compared"))
        printf "| queries compared with the CPU | %s in %d of %d rounds, %d searches different |\n",
               thousands(v["test.compared"]), v["test.rounds"], v["test.rounds_planned"], v["test.failed"]
}

END {
    machine()
    print "\n### Targets\n"
    targets()
    print "\n### What was run\n"
    what_was_run()
    print "\n### Limits of the device\n"
    limits()
    print "\n### Searches\n"
    searches()
    print "\n### Where the time goes\n"
    stages()
    print "\n### Two ways, queries per second\n"
    ways()
    print "\n### Without codes\n"
    baselines()
    print "\n### Memory\n"
    memory()
    print "\n### Cells\n"
    cells()
    print "\n### Posting lists\n"
    features()
    print "\n### Heads\n"
    heads()
    print "\n### Training\n"
    training()
    print "\n### Rankings\n"
    ranking()
    print "\n### Translation and training, whole\n"
    whole()
}
