// SPDX-License-Identifier: GPL-2.0-or-later
#include <stddef.h>
#include <string.h>

#include "lines.h"

_Static_assert(sizeof(struct scope_line) == 8192, "a line has 8 KiB");
_Static_assert(offsetof(struct scope_lines, line) == 8192, "lines begin at 8 KiB");
_Static_assert(sizeof(struct scope_lines) <= SCOPE_LINES_SIZE, "all fits into the memory");

uint32_t lines_begin(struct scope_lines *lines)
{
	uint32_t last = 0;

	if (__atomic_load_n(&lines->magic, __ATOMIC_ACQUIRE) == SCOPE_LINES_MAGIC)
		last = __atomic_load_n(&lines->trigger, __ATOMIC_RELAXED);
	lines->version = SCOPE_LINES_VERSION;
	lines->nr_lines = SCOPE_LINES_MAX;
	lines->ring_size = SCOPE_LINES_RING;
	lines->enabled = 0;
	lines->level = 0;
	__atomic_store_n(&lines->generation, lines->generation + 1, __ATOMIC_RELEASE);
	__atomic_store_n(&lines->magic, SCOPE_LINES_MAGIC, __ATOMIC_RELEASE);
	return last;
}

void lines_end(struct scope_lines *lines)
{
	__atomic_store_n(&lines->enabled, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&lines->level, 0, __ATOMIC_RELEASE);
}

void lines_skip(const struct scope_lines *lines, unsigned int line, struct lines_reader *reader)
{
	reader->seen = __atomic_load_n(&lines->line[line].head, __ATOMIC_ACQUIRE);
}

unsigned int lines_take(const struct scope_lines *lines, unsigned int line,
			struct lines_reader *reader, uint32_t *sequences, unsigned int max)
{
	const struct scope_line *from = &lines->line[line];
	uint32_t head = __atomic_load_n(&from->head, __ATOMIC_ACQUIRE);
	uint32_t ahead = head - reader->seen;
	unsigned int taken = 0;

	if (ahead > UINT32_MAX / 2) {
		/* It went backwards, against the rule; how many that were nobody knows. */
		reader->lost++;
		reader->seen = head;
		return 0;
	}
	/* The target may be writing the next one: that place is as good as overwritten. */
	if (ahead >= SCOPE_LINES_RING) {
		reader->lost += ahead - (SCOPE_LINES_RING - 1);
		reader->seen = head - (SCOPE_LINES_RING - 1);
	}
	while (reader->seen != head && taken < max) {
		uint32_t at = reader->seen % SCOPE_LINES_RING;

		sequences[taken] = __atomic_load_n(&from->ring[at], __ATOMIC_RELAXED);
		/* Had the target come round meanwhile?  The place is read before the head. */
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&from->head, __ATOMIC_RELAXED) - reader->seen >=
		    SCOPE_LINES_RING)
			reader->lost++;
		else
			taken++;
		reader->seen++;
	}
	return taken;
}

uint32_t lines_offered(const struct scope_lines *lines)
{
	return (uint32_t)__atomic_load_n(&lines->offered, __ATOMIC_ACQUIRE);
}

void lines_name(const struct scope_lines *lines, unsigned int line, char name[SCOPE_LINES_NAME])
{
	size_t i = 0;

	memset(name, 0, SCOPE_LINES_NAME);
	for (; i < SCOPE_LINES_NAME; i++) {
		char letter = __atomic_load_n(&lines->names[line][i], __ATOMIC_RELAXED);

		if (!letter)
			break;
		name[i] = letter > ' ' && letter < 127 ? letter : '?';
	}
}
