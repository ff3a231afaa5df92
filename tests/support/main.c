/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - main of unit tests, by itself so that programs with a main of their own can use the rest of test.h. */
#include "test.h"

int main(int argc, char **argv) {
    return test_main(argc, argv);
}
