/* SPDX-License-Identifier: Apache-2.0 */
/* Learn from a log which ads users take, and rank all ads for a new user. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <thresher/thresher.h>

enum { ADS = 60, REQUESTS = 2000, TASTES = 6, SHOWN = 5, HITS = 8 };

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

/* What the user's history adds to an ad of these words: its hits are views of the user's text, without a NUL. */
static float add_hits(const char *words, const thr_dual_hit *hits, size_t n) {
    float sum = 0;
    for (size_t i = 0; i < n; i++)
        for (const char *at = words; *at != '\0'; at += strcspn(at, " "), at += *at == ' ')
            if (strcspn(at, " ") == hits[i].length && memcmp(at, hits[i].word, hits[i].length) == 0)
                sum += hits[i].weight;
    return sum;
}

int main(void) {
    thr_context *context = NULL;
    thr_dual *dual = NULL;
    thr_dual_train_options options;
    thr_dual_report report;
    thr_error err;
    write_log();
    thr_dual_train_options_init(&options);
    options.config.n_dims = 8;
    options.config.n_products = 4;
    options.batch = 50;
    options.n_epochs = 3;
    if (thr_context_create(NULL, &context, &err) != THR_OK ||
        thr_dual_train(context, "requests.tsv", "items.tsv", "ads.safetensors", &options, &report, &err) != THR_OK ||
        thr_dual_open(context, "ads.safetensors", &dual, &err) != THR_OK)
        return failed(&err);
    printf("GAUC %.3f on %llu requests it did not learn from\n", report.valid_gauc, (unsigned long long)report.n_valid);

    const char *user = "country=1 click.category=4:2";
    const uint32_t n = thr_dual_get_info(dual).n_vector;
    float user_vector[64], ad_vector[64];
    thr_dual_hit hits[HITS];
    size_t n_hits = 0;
    if (n > 64 || thr_dual_encode(dual, THR_SIDE_QUERY, &user, NULL, 1, user_vector, &err) != THR_OK ||
        thr_dual_hits(dual, user, strlen(user), hits, HITS, &n_hits, &err) != THR_OK)
        return failed(&err);
    int best = 0;
    float best_score = 0;
    for (int ad = 0; ad < ADS; ad++) {
        char words[64];
        const char *text = words;
        float score = 0;
        (void)snprintf(words, sizeof words, "category=%d advertiser=%d", ad % TASTES, ad / 10);
        if (thr_dual_encode(dual, THR_SIDE_ITEM, &text, NULL, 1, ad_vector, &err) != THR_OK)
            return failed(&err);
        for (uint32_t d = 0; d < n; d++)
            score += user_vector[d] * ad_vector[d];
        score += add_hits(words, hits, n_hits < HITS ? n_hits : HITS);
        if (ad == 0 || score > best_score) {
            best = ad;
            best_score = score;
        }
    }
    printf("for \"%s\" the best ad is ad%d, of category %d: %.2f\n", user, best, best % TASTES, (double)best_score);
    thr_dual_free(dual);
    thr_context_free(context);
    return best % TASTES == 4 ? 0 : 1;
}
