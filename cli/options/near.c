// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "options/near.h"

#define LONGEST 32

static unsigned int least(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/* How many letters must be changed, left out, added, or swapped with the next, for @b from @a. */
static unsigned int distance(const char *a, const char *b)
{
	unsigned int rows[3][LONGEST + 1] = { { 0 } };
	size_t width = strlen(b), height = strlen(a);

	for (unsigned int k = 0; k <= width; k++)
		rows[0][k] = k;
	for (unsigned int i = 1; i <= height; i++) {
		const unsigned int *before = rows[(i - 1) % 3], *earlier = rows[(i + 1) % 3];
		unsigned int *row = rows[i % 3];

		row[0] = i;
		for (size_t k = 1; k <= width; k++) {
			row[k] = least(before[k - 1] + (a[i - 1] != b[k - 1]),
				       1 + least(before[k], row[k - 1]));
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
				row[k] = least(row[k], earlier[k - 2] + 1);
		}
	}
	return rows[height % 3][width];
}

void near_add(struct near *near, const char *name)
{
	size_t typed = strlen(near->typed), length = strlen(name);
	unsigned int found;

	if (length > LONGEST || typed > LONGEST)
		return;
	found = distance(near->typed, name);
	/* At least two thirds of the letters are right. */
	if (3 * found > typed || (near->best && found >= near->distance))
		return;
	near->best = name;
	near->distance = found;
}
