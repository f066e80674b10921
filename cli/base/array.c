// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

void *array_room(void *array, size_t count, size_t size)
{
	/* The room is the next power of two, so only these counts need more. */
	if (!(count & (count - 1))) {
		array = reallocarray(array, count ? 2 * count : 1, size);
		if (!array)
			error_no_memory();
	}
	memset((char *)array + count * size, 0, size);
	return array;
}
