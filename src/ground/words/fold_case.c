/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fold_case.c - which code points are letters, and their lower case.
 *
 * Both are tables of code point ranges searched by bisection. Lower case is Unicode's simple case folding for Latin,
 * Greek, Cyrillic, Armenian and full-width letters.
 */
#include "words/letters.h"

#include <stdlib.h>

/* Every stride-th code point from first to last is a capital; its lower case is `add` code points further on. */
typedef struct capitals {
    uint32_t first, last; /* the same leading members as a gap: compare() reads both */
    int32_t add;
    uint32_t stride;
} capitals;

/* Ascending, disjoint. */
static const capitals runs[] = {
    {0x41, 0x5A, 32, 1},     {0xC0, 0xD6, 32, 1},    {0xD8, 0xDE, 32, 1},     {0x100, 0x12E, 1, 2},
    {0x130, 0x130, -199, 1}, {0x132, 0x136, 1, 2},   {0x139, 0x147, 1, 2},    {0x14A, 0x176, 1, 2},
    {0x178, 0x178, -121, 1}, {0x179, 0x17D, 1, 2},   {0x1CD, 0x1DB, 1, 2},    {0x1DE, 0x1EE, 1, 2},
    {0x1F8, 0x21E, 1, 2},    {0x222, 0x232, 1, 2},   {0x386, 0x386, 38, 1},   {0x388, 0x38A, 37, 1},
    {0x38C, 0x38C, 64, 1},   {0x38E, 0x38F, 63, 1},  {0x391, 0x3A1, 32, 1},   {0x3A3, 0x3AB, 32, 1},
    {0x3C2, 0x3C2, 1, 1},    {0x400, 0x40F, 80, 1},  {0x410, 0x42F, 32, 1},   {0x460, 0x480, 1, 2},
    {0x48A, 0x4BE, 1, 2},    {0x4C1, 0x4CD, 1, 2},   {0x4D0, 0x52E, 1, 2},    {0x531, 0x556, 48, 1},
    {0x1E00, 0x1E94, 1, 2},  {0x1EA0, 0x1EFE, 1, 2}, {0xFF21, 0xFF3A, 32, 1},
};

/* bsearch order of a letter against a range, whose first two members are its first and last code point. */
static int compare(const void *letter, const void *run) {
    const uint32_t *at = letter, *ends = run;
    return *at < ends[0] ? -1 : *at > ends[1];
}

uint32_t thr_words_fold_case(uint32_t letter) {
    if (letter < 0x80)
        return letter - 'A' < 26u ? letter + 32 : letter;
    const capitals *run = bsearch(&letter, runs, sizeof runs / sizeof runs[0], sizeof runs[0], compare);
    return run == NULL || (letter - run->first) % run->stride != 0 ? letter : (uint32_t)((int32_t)letter + run->add);
}

/* Separators beyond ASCII. Ascending, disjoint. */
static const struct {
    uint32_t first, last;
} gaps[] = {
    {0x80, 0xA9},     {0xAB, 0xB4},       {0xB6, 0xB9},        {0xBB, 0xBF},     {0xD7, 0xD7},     {0xF7, 0xF7},
    {0x2C2, 0x2C5},   {0x2D2, 0x2DF},     {0x37E, 0x37E},      {0x387, 0x387},   {0x55A, 0x55F},   {0x589, 0x58F},
    {0x5BE, 0x5BE},   {0x5C0, 0x5C0},     {0x5C3, 0x5C3},      {0x5F3, 0x5F4},   {0x600, 0x60F},   {0x61B, 0x61F},
    {0x66A, 0x66D},   {0x6D4, 0x6D4},     {0x964, 0x965},      {0x1680, 0x1680}, {0x2000, 0x206F}, {0x207A, 0x207E},
    {0x208A, 0x208E}, {0x20A0, 0x20CF},   {0x2190, 0x2BFF},    {0x2E00, 0x2E7F}, {0x3000, 0x3004}, {0x3008, 0x3020},
    {0x3030, 0x3030}, {0x30A0, 0x30A0},   {0x30FB, 0x30FB},    {0xD800, 0xF8FF}, {0xFD3E, 0xFD3F}, {0xFE10, 0xFE1F},
    {0xFE30, 0xFE6F}, {0xFEFF, 0xFEFF},   {0xFF00, 0xFF0F},    {0xFF1A, 0xFF20}, {0xFF3B, 0xFF40}, {0xFF5B, 0xFF65},
    {0xFFE0, 0xFFFF}, {0x1F000, 0x1FAFF}, {0xE0000, 0x10FFFF},
};

bool thr_words_is_letter(uint32_t letter) {
    if (letter < 0x80)
        return letter - '0' < 10u || (letter | 32) - 'a' < 26u;
    return bsearch(&letter, gaps, sizeof gaps / sizeof gaps[0], sizeof gaps[0], compare) == NULL;
}
