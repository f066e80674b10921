// SPDX-License-Identifier: GPL-2.0-or-later
/* A histogram in text:  encode DIGITS, with lines "VALUE COUNT" at stdin */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "statistics/hdr.h"

int main(int argc, char **argv)
{
	unsigned int digits = argc > 1 ? (unsigned int)atoi(argv[1]) : 0;
	struct hist *hist = malloc(hist_size(digits));
	uint64_t value, count;
	char *text;

	if (!hist)
		return 1;
	hist_init(hist, digits);
	while (scanf("%" SCNu64 " %" SCNu64, &value, &count) == 2)
		hist->counts[hist_index(hist, value)] += count;
	text = hdr_encode(hist);
	puts(text);
	free(text);
	free(hist);
	return 0;
}
