// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attribute/names.h"
#include "base/array.h"
#include "base/file.h"
#include "base/text.h"

#define REACH (1 << 20)	/* no function is longer */

static int by_address(const void *left, const void *right)
{
	const struct names_symbol *a = left, *b = right;

	return a->address < b->address ? -1 : a->address > b->address;
}

/* "ffffffff81000000 T name [module]": functions only, names cut out in place. */
static void read_symbols(struct names *names, char *text)
{
	char *to = text, *line;

	names->text = text;
	while ((line = strsep(&text, "\n"))) {
		char *name;
		uint64_t address = strtoull(line, &name, 16);
		size_t length;

		/* Without the right to see them all addresses are 0. */
		if (!address || name[0] != ' ' || !name[1] || !strchr("tTwW", name[1]) ||
		    name[2] != ' ')
			continue;
		name += 3;
		length = strcspn(name, "\t ");
		/* Towards the begin: nothing that is still to be read is written over. */
		memmove(to, name, length);
		to[length] = '\0';
		*ARRAY_ADD(names->symbols, names->nr_symbols) = (struct names_symbol){
			address, (uint32_t)(to - names->text) };
		to += length + 1;
	}
	if (!names->nr_symbols) {
		free(names->text);
		names->text = NULL;
		return;
	}
	/* What is left of the text is given back. */
	names->text = realloc(names->text, (size_t)(to - names->text));
	qsort(names->symbols, names->nr_symbols, sizeof(*names->symbols), by_address);
}

/* '0xffffffff82345678 : "Rescheduling interrupts"' */
static void read_reasons(struct names *names, char *text)
{
	char *line;

	names->reason_text = text;
	while ((line = strsep(&text, "\n"))) {
		uint64_t address = strtoull(line, NULL, 16);
		char *begin = strchr(line, '"'), *end = strrchr(line, '"');

		if (!address || !begin || begin == end)
			continue;
		*end = '\0';
		*ARRAY_ADD(names->reasons, names->nr_reasons) = (struct names_symbol){
			address, (uint32_t)(begin + 1 - names->reason_text) };
	}
}

void names_open(struct names *names, char *kallsyms, char *formats, int tracefs)
{
	memset(names, 0, sizeof(*names));
	names->tracefs = tracefs;
	if (kallsyms)
		read_symbols(names, kallsyms);
	if (formats)
		read_reasons(names, formats);
}

void names_close(struct names *names)
{
	for (size_t i = 0; i < NAMES_MOST; i++)
		free(names->pool[i]);
	free(names->text);
	free(names->symbols);
	free(names->reason_text);
	free(names->reasons);
	memset(names, 0, sizeof(*names));
	names->tracefs = -1;
}

const char *names_keep(struct names *names, const char *text)
{
	uint32_t hash = 2166136261u;

	for (const char *at = text; *at; at++)
		hash = (hash ^ (unsigned char)*at) * 16777619u;
	for (size_t i = 0; i < NAMES_MOST; i++) {
		char **slot = &names->pool[(hash + i) % NAMES_MOST];

		if (*slot && !strcmp(*slot, text))
			return *slot;
		if (*slot)
			continue;
		/* A table that is almost full would be searched for ever. */
		if (names->pooled >= NAMES_MOST / 4 * 3)
			break;
		names->pooled++;
		return *slot = text_format("%s", text);
	}
	return NAMES_OTHERS;
}

const char *names_function(const struct names *names, uint64_t address)
{
	size_t low = 0, high = names->nr_symbols;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (names->symbols[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || address - names->symbols[low - 1].address >= REACH)
		return NULL;
	return names->text + names->symbols[low - 1].at;
}

const char *names_reason(const struct names *names, uint64_t address)
{
	for (size_t i = 0; i < names->nr_reasons; i++)
		if (names->reasons[i].address == address)
			return names->reason_text + names->reasons[i].at;
	return NULL;
}

/* Where @pid is, or where it may be noted. */
static size_t slot(const struct names *names, int pid)
{
	size_t first = (unsigned int)pid % (NAMES_TASKS / 2) * 2;

	return names->tasks[first + 1].pid == pid ? first + 1 : first;
}

void names_task_seen(struct names *names, int pid, const char *comm)
{
	size_t at = slot(names, pid);

	/* The one that was noted longer ago makes way. */
	if (names->tasks[at].pid != pid)
		names->tasks[at + 1] = names->tasks[at];
	names->tasks[at].pid = pid;
	snprintf(names->tasks[at].comm, NAMES_COMM, "%s", comm);
}

/* Of "PID COMM" in saved_cmdlines. */
static bool remembered(int tracefs, int pid, char comm[NAMES_COMM])
{
	size_t size;
	char *text = tracefs < 0 ? NULL :
		file_read_close(openat(tracefs, "saved_cmdlines", O_RDONLY | O_CLOEXEC), &size);
	char *rest = text, *line;
	bool found = false;

	while (rest && !found && (line = strsep(&rest, "\n"))) {
		char *name;

		if (strtol(line, &name, 10) != pid || name == line || *name != ' ')
			continue;
		snprintf(comm, NAMES_COMM, "%s", name + 1);
		found = strcmp(comm, "<...>");
	}
	free(text);
	return found;
}

const char *names_task(struct names *names, int pid)
{
	size_t at = slot(names, pid);
	char comm[NAMES_COMM];

	if (!pid)
		return "idle";
	if (names->tasks[at].pid == pid)
		return names_keep(names, names->tasks[at].comm);
	if (!remembered(names->tracefs, pid, comm) &&
	    !file_word(comm, sizeof(comm), "/proc/%d/comm", pid))
		return NULL;
	names_task_seen(names, pid, comm);
	return names_task(names, pid);
}
