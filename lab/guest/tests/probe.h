/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A probe in the kernel that counts: how often a function was entered, or came back. */
#ifndef LAB_PROBE_H
#define LAB_PROBE_H

#include "../test.h"

#define TRACING "/sys/kernel/tracing"

struct probe_counts {
	long hits, misses;
};

static inline bool probe_write(const char *text)
{
	int fd = open(TRACING "/kprobe_events", O_WRONLY | O_APPEND | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return done;
}

/* @how: p for the entry, r for the return; @name is the event's.  False: cannot be had. */
static inline bool probe_begin(const char *how, const char *name, const char *function)
{
	char text[128], path[128];

	snprintf(text, sizeof(text), "%s:lab/%s %s\n", how, name, function);
	snprintf(path, sizeof(path), TRACING "/events/lab/%s/enable", name);
	return probe_write(text) && !put_file(path, "1");
}

static inline void probe_end(const char *name)
{
	char text[64], path[128];

	snprintf(path, sizeof(path), TRACING "/events/lab/%s/enable", name);
	put_file(path, "0");
	snprintf(text, sizeof(text), "-:lab/%s\n", name);
	probe_write(text);
}

static inline struct probe_counts probe_counts(const char *name)
{
	FILE *f = fopen(TRACING "/kprobe_profile", "r");
	struct probe_counts counts = { -1, -1 }, found;
	char line[256], of[64];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%63s %ld %ld", of, &found.hits, &found.misses) == 3 &&
		    !strcmp(of, name))
			counts = found;
	}
	if (f)
		fclose(f);
	return counts;
}

/*
 * Static keys that were switched, one by one: Isolator's are two, and go off a moment
 * after the last end.
 */
#define KEYS_PROBE	"keys", "arch_jump_label_transform_apply"

static inline long keys_switched(void)
{
	return probe_counts("keys").hits;
}

/* Until both of Isolator's keys went off after @before; false: not within 20 s. */
static inline bool keys_go_off(long before)
{
	return comes(keys_switched() >= before + 2, 20000);
}

#endif
