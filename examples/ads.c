/* SPDX-License-Identifier: Apache-2.0 */
/* Learn from a log which ads users take, and rank all ads for a new user. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <thresher/thresher.h>

enum { ADS = 60, REQUESTS = 2000, TASTES = 6, SHOWN = 5, HITS = 8, MOST_DIMS = 64 };

/* Numbers below n that look drawn. */
static int draw(unsigned *state, unsigned n) {
    *state = *state * 1664525u + 1013904223u;
    return (int)((*state >> 16) % n);
}

/* Every ad has a category; users clicked on one before, and take an ad of it again. */
static void write_log(void) {
    FILE *items = fopen("items.tsv", "w"), *requests = fopen("requests.tsv", "w");
    if (items == NULL || requests == NULL) {
        perror("cannot write a log");
        exit(1);
    }
    for (int ad = 0; ad < ADS; ad++)
        (void)fprintf(items, "ad%d\tcategory=%d advertiser=%d\n", ad, ad % TASTES, ad / 10);
    unsigned state = 1;
    for (int r = 0; r < REQUESTS; r++) {
        const int taste = draw(&state, TASTES), best = taste + TASTES * draw(&state, ADS / TASTES);
        const int country = draw(&state, 3), clicks = 1 + draw(&state, 4);
        (void)fprintf(requests, "country=%d click.category=%d:%d\tad%d:0.50", country, taste, clicks, best);
        for (int a = 1; a < SHOWN; a++) /* each of another tenth; none of the others is better than another */
            (void)fprintf(requests, " %sad%d:0.40", a > 1 ? "~" : "", (best + 10 * a + draw(&state, 9)) % ADS);
        (void)fprintf(requests, "\n");
    }
    if (fclose(items) != 0 || fclose(requests) != 0)
        exit(1);
}

static int failed(const thr_error *err) {
    (void)fprintf(stderr, "%s\n", err->text);
    return 1;
}

/* Vectors of all ads, and their words, in one index: searches score every ad by both. */
static thr_status build_index(thr_context *context, const thr_dual *dual, thr_error *err) {
    static char words[ADS][64];
    static float vectors[ADS * MOST_DIMS];
    const char *texts[ADS];
    thr_index_build_options options = {0};
    thr_reader *reader = NULL;
    for (int ad = 0; ad < ADS; ad++) {
        (void)snprintf(words[ad], sizeof words[ad], "category=%d advertiser=%d", ad % TASTES, ad / 10);
        texts[ad] = words[ad];
    }
    thr_status status = thr_dual_encode(dual, THR_SIDE_ITEM, texts, NULL, ADS, vectors, err);
    const thr_matrix rows = thr_matrix_f32(vectors, ADS, thr_dual_get_info(dual).n_vector);
    if (status == THR_OK)
        status = thr_reader_from_matrix(context, &rows, &reader, err);
    options.metric = THR_METRIC_IP;
    options.features_path = "items.tsv";
    options.replace = true;
    if (status == THR_OK)
        status = thr_index_build(context, "ads.index", reader, &options, err);
    thr_reader_free(reader);
    return status;
}

/* What the user's history weighs the features of ads; words are views of the user's text. */
static thr_status weigh(const thr_dual *dual, const char *user, const thr_hits *lists, uint32_t *features,
                        float *weights, size_t *n, thr_error *err) {
    thr_dual_hit hits[HITS];
    const thr_status status = thr_dual_hits(dual, user, strlen(user), hits, HITS, n, err);
    for (size_t i = 0; status == THR_OK && i < *n; i++) {
        char word[64];
        (void)snprintf(word, sizeof word, "%.*s", (int)hits[i].length, hits[i].word);
        if (!thr_hits_feature(lists, word, &features[i]))
            features[i] = UINT32_MAX; /* no ad has it */
        weights[i] = hits[i].weight;
    }
    return status;
}

int main(void) {
    thr_context *context = NULL;
    thr_dual *dual = NULL;
    thr_index *index = NULL;
    thr_dual_train_options options;
    thr_tower_report report;
    thr_error err;
    write_log();
    thr_dual_train_options_init(&options);
    options.config.n_dims = 8;
    options.config.n_products = 4;
    options.run.batch = 50;
    options.run.n_epochs = 3;
    if (thr_context_create(NULL, &context, &err) != THR_OK ||
        thr_dual_train(context, "requests.tsv", "items.tsv", "ads.safetensors", &options, &report, &err) != THR_OK ||
        thr_dual_open(context, "ads.safetensors", &dual, &err) != THR_OK ||
        build_index(context, dual, &err) != THR_OK || thr_index_open(context, "ads.index", &index, &err) != THR_OK)
        return failed(&err);
    printf("GAUC %.3f on %llu requests it did not learn from\n", report.valid_quality,
           (unsigned long long)report.n_valid);

    const char *user = "country=1 click.category=4:2";
    float vector[MOST_DIMS], weights[HITS], value;
    uint32_t features[HITS];
    uint64_t best, ends[2] = {0};
    size_t n = 0;
    thr_search_options how = {0};
    if (thr_dual_encode(dual, THR_SIDE_QUERY, &user, NULL, 1, vector, &err) != THR_OK ||
        weigh(dual, user, thr_index_hits(index), features, weights, &n, &err) != THR_OK)
        return failed(&err);
    ends[1] = n;
    const thr_matrix query = thr_matrix_f32(vector, 1, thr_dual_get_info(dual).n_vector);
    const thr_hits_queries asked = {1, ends, features, weights};
    how.features = &asked;
    if (thr_index_search(index, &query, 1, &how, &best, &value, &err) != THR_OK)
        return failed(&err);
    printf("for \"%s\" the best ad is %s, of category %d: %.2f\n", user, thr_index_name(index, best),
           (int)best % TASTES, (double)value);
    thr_index_free(index);
    thr_dual_free(dual);
    thr_context_free(context);
    return best % TASTES == 4 ? 0 : 1;
}
