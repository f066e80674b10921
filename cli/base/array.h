/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arrays that grow by one element at a time. */
#ifndef ARRAY_H
#define ARRAY_H

#include <stddef.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/*
 * The address of a new, zeroed element at the end of @array, which may move: an
 * address taken before is no longer good.
 */
#define ARRAY_ADD(array, count) \
	((array) = array_room((array), (count), sizeof(*(array))), &(array)[(count)++])

/* Makes room for one more element after @count; ends the program without memory. */
void *array_room(void *array, size_t count, size_t size);

#endif
