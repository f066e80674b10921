// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/error.h"
#include "base/file.h"
#include "base/root.h"
#include "base/text.h"
#include "base/wait.h"
#include "machine/kernels.h"
#include "proc/parse.h"

#define TRIES 4

static const char *const file_names[PROC_FILES] = {
	[PROC_STATUS] = "status",
	[PROC_STATS] = "stats",
	[PROC_SENDERS] = "senders",
	[PROC_DELIVERIES] = "deliveries",
};

/* Why @path could not be read, and what helps.  Returns -1. */
static int unreadable(const char *directory, const char *path, enum proc_file file, int error)
{
	struct utsname kernel = { 0 };

	uname(&kernel);
	if ((error == ENOENT || error == ENOTDIR) && strcmp(directory, PROC_DIRECTORY))
		error_say("there is no %s: --proc must name a directory with the files of %s",
			  path, PROC_DIRECTORY);
	else if (error == ENOENT && file == PROC_STATUS)
		kernels_say("/", "there is no " PROC_DIRECTORY);
	else if (error == ENOENT)
		error_say("the running kernel, %s, has no %s: install the isolator command that belongs to it",
			  kernel.release, path);
	else if (error == EACCES || error == EPERM)
		error_say("%s: %s: run it as root, or let this user read the file", path,
			  strerror(error));
	else
		error_say("%s: %s", path, strerror(error));
	return -1;
}

/* A text that the kernel has written whole; -1, said why: it is something else. */
static int check_text(const char *path, const char *text, size_t size)
{
	if (file_is_whole(text, size))
		return 0;
	error_say("%s: it is cut off, or not a text file: is it a file of %s?", path, PROC_DIRECTORY);
	return -1;
}

static int take(const char *directory, enum proc_file file, struct proc_sample *sample)
{
	static int (*const parse[PROC_FILES])(struct proc_sample *, const char *, char *) = {
		[PROC_STATUS] = parse_status,
		[PROC_STATS] = parse_stats,
		[PROC_SENDERS] = parse_senders,
		[PROC_DELIVERIES] = parse_deliveries,
	};
	char *path = text_format("%s/%s", directory, file_names[file]);
	size_t size;
	int error;

	sample->text[file] = file_read(path, &size);
	if (sample->text[file]) {
		error = check_text(path, sample->text[file], size);
		if (!error)
			error = parse[file](sample, path, sample->text[file]);
	} else if (file == PROC_SENDERS && (errno == EACCES || errno == EPERM)) {
		sample->names = NAMES_DENIED;
		error = 0;
	} else {
		error = unreadable(directory, path, file, errno);
	}
	free(path);
	return error;
}

/* Do each CPU's senders add up to its total? */
static bool adds_up(const struct proc_sample *sample)
{
	for (size_t i = 0; i < sample->nr_cpus; i++) {
		const struct proc_cpu *cpu = &sample->cpus[i];
		struct counts sum = { 0 };

		for (size_t k = 0; k < cpu->nr_senders; k++)
			counts_add(&sum, &cpu->senders[k].counts);
		if (memcmp(&sum, &cpu->total, sizeof(sum)))
			return false;
	}
	return true;
}

static int read_once(const char *directory, bool deliveries, struct proc_sample *sample)
{
	*sample = (struct proc_sample){ .taken_ns = wait_clock_ns() };
	if (take(directory, PROC_STATUS, sample) ||
	    take(directory, PROC_STATS, sample) ||
	    take(directory, PROC_SENDERS, sample) ||
	    (deliveries && take(directory, PROC_DELIVERIES, sample))) {
		proc_free(sample);
		return -1;
	}
	sample->consistent = sample->names != NAMES_SEEN || adds_up(sample);
	return 0;
}

int proc_read(const char *directory, bool deliveries, struct proc_sample *sample)
{
	int error = read_once(directory, deliveries, sample);

	/* The files are read one after another: a request between them shows in one only. */
	for (int i = 1; !error && !sample->consistent && i < TRIES; i++) {
		proc_free(sample);
		error = read_once(directory, deliveries, sample);
	}
	return error;
}

int proc_read_below(const char *root, bool deliveries, struct proc_sample *sample)
{
	char *directory = text_format("%s" PROC_DIRECTORY, root_live(root) ? "" : root);
	int error = proc_read(directory, deliveries, sample);

	free(directory);
	return error;
}

void proc_free(struct proc_sample *sample)
{
	for (size_t i = 0; i < sample->nr_cpus; i++)
		parse_free(&sample->cpus[i]);
	free(sample->cpus);
	for (int i = 0; i < PROC_FILES; i++)
		free(sample->text[i]);
	*sample = (struct proc_sample){ 0 };
}

const struct proc_cpu *proc_cpu(const struct proc_sample *sample, int cpu)
{
	for (size_t i = 0; sample && i < sample->nr_cpus; i++)
		if (sample->cpus[i].cpu == cpu)
			return &sample->cpus[i];
	return NULL;
}

bool proc_since(const struct proc_cpu *now, const struct proc_cpu *before,
		struct counts *since)
{
	bool same = before && now->started_ns == before->started_ns;

	return counts_since(&now->total, same ? &before->total : NULL, since) && same;
}

const struct proc_kind *proc_longest(const struct proc_cpu *cpu)
{
	const struct proc_kind *longest = NULL;

	for (size_t i = 0; i < cpu->nr_kinds; i++)
		if (cpu->kinds[i].longest_ns > (longest ? longest->longest_ns : 0))
			longest = &cpu->kinds[i];
	return longest;
}

static bool same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

const struct proc_sender *proc_sender(const struct proc_cpu *cpu,
				      const struct proc_sender *sender)
{
	for (size_t i = 0; cpu && i < cpu->nr_senders; i++) {
		const struct proc_sender *other = &cpu->senders[i];

		if (same(other->callback, sender->callback) &&
		    same(other->kind, sender->kind) && same(other->comm, sender->comm))
			return other;
	}
	return NULL;
}
