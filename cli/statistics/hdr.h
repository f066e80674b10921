/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * HdrHistogram's V2 compressed encoding in base64, which its libraries read in many
 * languages.  The deflate stream within has stored blocks only: what is mostly zeros
 * is short before, and no zlib is needed where it is measured.
 */
#ifndef HDR_H
#define HDR_H

#include "statistics/hist.h"

#define HDR_ENCODING "hdrhistogram-v2"

/* To be freed. */
char *hdr_encode(const struct hist *hist);

#endif
