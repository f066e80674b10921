// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attribute/tracefs.h"
#include "base/file.h"
#include "base/root.h"
#include "base/text.h"
#include "machine/instance.h"

#define LEAST_KIB "4"
#define SENDER_KIB 256

void tracefs_init(struct tracefs *fs)
{
	memset(fs, 0, sizeof(*fs));
	fs->root = fs->measured = fs->senders = -1;
}

static int fail(struct tracefs *fs, const char *format, ...)
{
	va_list arguments;

	free(fs->why);
	va_start(arguments, format);
	fs->why = text_formatv(format, arguments);
	va_end(arguments);
	return -1;
}

int tracefs_write(int directory, const char *path, const char *text)
{
	int file = openat(directory, path, O_WRONLY | O_CLOEXEC), error;

	if (file < 0)
		return errno;
	error = file_write_fd(file, text, strlen(text));
	close(file);
	return error;
}

char *tracefs_read(int directory, const char *path)
{
	size_t size;

	return file_read_close(openat(directory, path, O_RDONLY | O_CLOEXEC), &size);
}

/* What stands against it, by errno. */
static const char *remedy(int error)
{
	switch (error) {
	case EACCES:
		return ": it is for root";
	case EPERM:
		return ": it needs CAP_SYS_ADMIN, and a kernel that is not locked down (/sys/kernel/security/lockdown)";
	default:
		return "";
	}
}

/* An instance with tracing off; its directory, or -1 with fs->why. */
static int make(struct tracefs *fs, const char *name)
{
	char *path = text_format("instances/%s", name);
	int directory = -1, error;

	/* One of an earlier process with this number. */
	unlinkat(fs->root, path, AT_REMOVEDIR);
	if (mkdirat(fs->root, path, 0700)) {
		fail(fs, "no instance of tracefs can be made: %s%s", strerror(errno),
		     remedy(errno));
	} else {
		directory = openat(fs->root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		error = directory < 0 ? errno : tracefs_write(directory, "tracing_on", "0");
		if (error)
			fail(fs, "the instance of tracefs cannot be used: %s%s", strerror(error),
			     remedy(error));
		if (error && directory >= 0)
			close(directory);
		if (error)
			directory = -1;
		if (error)
			unlinkat(fs->root, path, AT_REMOVEDIR);
	}
	free(path);
	return directory;
}

/* The clock, read back, that CLOCK_MONOTONIC is compared with. */
static int set_clock(struct tracefs *fs, int instance)
{
	int error = tracefs_write(instance, "trace_clock", "mono");
	char *clocks = error ? NULL : tracefs_read(instance, "trace_clock");
	bool set = clocks && strstr(clocks, "[mono]");

	free(clocks);
	if (!set)
		return fail(fs, "the trace clock \"mono\" is not available: %s",
			    error ? strerror(error) : "it did not become it");
	return 0;
}

/* Which CPUs, and how much for each; little for those that are none of them. */
static int set_rings(struct tracefs *fs, int instance, const struct cpulist *cpus, size_t kib)
{
	char *mask = cpulist_mask(cpus), *size = text_format("%zu", kib);
	int error = tracefs_write(instance, "tracing_cpumask", mask);

	if (!error)
		error = tracefs_write(instance, "buffer_size_kb", LEAST_KIB);
	for (int cpu = -1; !error && (cpu = cpulist_next(cpus, cpu)) >= 0;) {
		char *path = text_format("per_cpu/cpu%d/buffer_size_kb", cpu);

		error = tracefs_write(instance, path, size);
		free(path);
	}
	if (error)
		fail(fs, "a trace ring of %s KiB for each of the CPUs %s cannot be allocated: %s",
		     size, mask, strerror(error));
	free(mask);
	free(size);
	return error ? -1 : 0;
}

int tracefs_open(struct tracefs *fs, const struct tracefs_wanted *wanted)
{
	tracefs_init(fs);
	if (instance_tracefs(&fs->why))
		return -1;
	fs->root = root_open("/", INSTANCE_TRACEFS, O_RDONLY | O_DIRECTORY);
	if (fs->root < 0)
		return fail(fs, INSTANCE_TRACEFS ": %s%s", strerror(errno), remedy(errno));
	snprintf(fs->name, sizeof(fs->name), INSTANCE_CAUSES, getpid());
	snprintf(fs->sender_name, sizeof(fs->sender_name), INSTANCE_SENDERS, getpid());
	fs->measured = make(fs, fs->name);
	if (fs->measured < 0 || set_clock(fs, fs->measured) ||
	    set_rings(fs, fs->measured, wanted->measured, wanted->bytes / 1024))
		return -1;
	if (cpulist_empty(wanted->others))
		return 0;
	fs->senders = make(fs, fs->sender_name);
	if (fs->senders < 0 || set_clock(fs, fs->senders) ||
	    set_rings(fs, fs->senders, wanted->others, SENDER_KIB))
		return -1;
	return 0;
}

int tracefs_resize(struct tracefs *fs, const struct tracefs_wanted *wanted)
{
	return set_rings(fs, fs->measured, wanted->measured, wanted->bytes / 1024);
}

int tracefs_open_copy(struct tracefs *fs, const char *directory)
{
	tracefs_init(fs);
	fs->root = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fs->root < 0)
		return fail(fs, "%s: %s", directory, strerror(errno));
	fs->measured = openat(fs->root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fs->senders = openat(fs->root, "senders", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return 0;
}

int tracefs_formats(struct tracefs *fs, struct trace_readers *readers)
{
	char *text = tracefs_read(fs->root, "events/header_page");
	bool layout = text && trace_layout_parse(text, &readers->layout);

	free(text);
	if (!layout)
		return fail(fs, "the pages of the trace ring cannot be read: events/header_page says nothing that is known");
	for (size_t i = 0; i < trace_kinds_count; i++) {
		const struct trace_kind *kind = &trace_kinds[i];
		char *path = text_format("events/%s/%s/format", kind->system, kind->name);
		struct trace_format format;

		text = tracefs_read(fs->root, path);
		/* Not every kernel has every event: what that means is told in tracefs_arm(). */
		if (text && trace_format_parse(text, &format))
			trace_readers_add(readers, kind, &format);
		free(text);
		free(path);
	}
	if (!readers->count)
		return fail(fs, "none of the kernel's events can be read: is it built with CONFIG_EVENT_TRACING?");
	return 0;
}

int tracefs_ring(const struct tracefs *fs, bool senders, int cpu)
{
	char *path = text_format("per_cpu/cpu%d/trace_pipe_raw", cpu);
	int file = openat(senders ? fs->senders : fs->measured, path,
			  O_RDONLY | O_NONBLOCK | O_CLOEXEC), error = errno;

	free(path);
	errno = error;
	return file;
}

int tracefs_mark(const struct tracefs *fs, const char *text)
{
	return tracefs_write(fs->measured, "trace_marker", text);
}

uint64_t tracefs_entries(const struct tracefs *fs, int cpu)
{
	char *path = text_format("per_cpu/cpu%d/stats", cpu);
	char *text = tracefs_read(fs->measured, path);
	char *at = text ? strstr(text, "entries:") : NULL;
	uint64_t entries = at ? strtoull(at + strlen("entries:"), NULL, 10) : 0;

	free(text);
	free(path);
	return entries;
}

static void remove_instance(const struct tracefs *fs, int directory, const char *name)
{
	char *path = text_format("instances/%s", name);

	if (directory >= 0) {
		if (*name)
			tracefs_write(directory, "tracing_on", "0");
		close(directory);
	}
	if (*name)
		unlinkat(fs->root, path, AT_REMOVEDIR);
	free(path);
}

void tracefs_end(struct tracefs *fs)
{
	char *why = fs->why, *notes = fs->notes;

	remove_instance(fs, fs->senders, fs->sender_name);
	remove_instance(fs, fs->measured, fs->name);
	if (fs->root >= 0)
		close(fs->root);
	tracefs_init(fs);
	fs->why = why;
	fs->notes = notes;
}

void tracefs_close(struct tracefs *fs)
{
	tracefs_end(fs);
	free(fs->why);
	free(fs->notes);
	tracefs_init(fs);
}
