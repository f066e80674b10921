// SPDX-License-Identifier: LGPL-2.1-or-later
/* Small files of sysfs and procfs, below a root; lists of CPUs. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology.h"

bool isolator_cpus_parse(const char *text, struct cpus *cpus)
{
	memset(cpus, 0, sizeof(*cpus));
	/* What a kernel without an isolated CPU has written now and then. */
	if (strcmp(text, "(null)") == 0)
		return true;
	while (*text) {
		unsigned long first, last;
		char *end;

		if (*text < '0' || *text > '9')
			return false;
		first = last = strtoul(text, &end, 10);
		if (*end == '-') {
			if (end[1] < '0' || end[1] > '9')
				return false;
			last = strtoul(end + 1, &end, 10);
		}
		if (last >= CPUS_MAX || first > last)
			return false;
		for (; first <= last; first++)
			cpus->words[first / 64] |= 1ULL << (first % 64);
		if (*end && (*end != ',' || !end[1]))
			return false;
		text = *end ? end + 1 : end;
	}
	return true;
}

unsigned int isolator_cpus_count(const struct cpus *cpus)
{
	unsigned int count = 0;

	for (size_t i = 0; i < CPUS_MAX / 64; i++)
		count += (unsigned int)__builtin_popcountll(cpus->words[i]);
	return count;
}

int isolator_cpus_first(const struct cpus *cpus)
{
	for (size_t i = 0; i < CPUS_MAX / 64; i++)
		if (cpus->words[i])
			return (int)(i * 64) + __builtin_ctzll(cpus->words[i]);
	return -1;
}

FILE *isolator_file_open(const char *root, const char *path)
{
	char name[PATH_MAX];
	int length = snprintf(name, sizeof(name), "%s/%s", root, path);

	return length < 0 || (size_t)length >= sizeof(name) ? NULL : fopen(name, "re");
}

/* A text that does not fit is none: half a list would be another list. */
static bool read_text(const char *root, char *text, size_t room, const char *path,
		      va_list arguments)
{
	char name[PATH_MAX];
	size_t length;
	FILE *file;
	int root_length = snprintf(name, sizeof(name), "%s/", root);

	if (root_length < 0 || (size_t)root_length >= sizeof(name) - 256)
		return false;
	vsnprintf(name + root_length, sizeof(name) - (size_t)root_length, path, arguments);
	file = fopen(name, "re");
	if (!file)
		return false;
	length = fread(text, 1, room, file);
	/* A file of sysfs can be there and refuse to be read. */
	if (ferror(file) || length == room || memchr(text, 0, length)) {
		fclose(file);
		return false;
	}
	fclose(file);
	while (length && (text[length - 1] == '\n' || text[length - 1] == ' '))
		length--;
	text[length] = 0;
	return true;
}

bool isolator_file_text(const char *root, char *text, size_t room, const char *path, ...)
{
	va_list arguments;
	bool result;

	va_start(arguments, path);
	result = read_text(root, text, room, path, arguments);
	va_end(arguments);
	return result;
}

int isolator_file_cpus(const char *root, struct cpus *cpus, const char *path, ...)
{
	/* Every second CPU of the most that there can be. */
	char text[CPUS_MAX * 3];
	va_list arguments;
	bool there;

	memset(cpus, 0, sizeof(*cpus));
	va_start(arguments, path);
	there = read_text(root, text, sizeof(text), path, arguments);
	va_end(arguments);
	if (!there)
		return 0;
	if (isolator_cpus_parse(text, cpus))
		return 1;
	memset(cpus, 0, sizeof(*cpus));
	return -1;
}

int isolator_file_number(const char *root, uint64_t *number, const char *path, ...)
{
	char text[64], *end;
	va_list arguments;
	bool there;

	*number = 0;
	va_start(arguments, path);
	there = read_text(root, text, sizeof(text), path, arguments);
	va_end(arguments);
	if (!there)
		return 0;
	errno = 0;
	if (text[0] < '0' || text[0] > '9')
		return -1;
	*number = strtoull(text, &end, 10);
	if (errno || *end) {
		*number = 0;
		return -1;
	}
	return 1;
}
