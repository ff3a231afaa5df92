/* SPDX-License-Identifier: Apache-2.0 */
/* shortest.h - the length below which a vector counts as zero. */
#pragma once

/* The products of two such lengths stay far above the smallest float of normal precision. */
static const double THR_SHORTEST = 0x1p-100;
