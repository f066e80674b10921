// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/directory.h"
#include "base/root.h"
#include "base/setting.h"
#include "base/text.h"
#include "machine/instance.h"

#define INSTANCES INSTANCE_TRACEFS "/instances/"
#define OURS INSTANCES "isolator-"

/* What the kernel shows in a new one, for a root that has no kernel. */
static const struct {
	const char *name, *text;
} files[] = {
	{ "tracing_on", "1\n" }, { "current_tracer", "nop\n" }, { "trace_clock", "[local] mono\n" },
	{ "buffer_size_kb", "7\n" }, { "tracing_cpumask", "f\n" }, { "set_event", "" },
};

char *instance_path(pid_t pid)
{
	return text_format(OURS "measure-%d", (int)pid);
}

char *instance_causes(pid_t pid)
{
	return text_format(INSTANCES INSTANCE_CAUSES, (int)pid);
}

char *instance_senders(pid_t pid)
{
	return text_format(INSTANCES INSTANCE_SENDERS, (int)pid);
}

static void stand_in(const char *root, const char *path, bool make)
{
	for (size_t i = 0; !root_live(root) && i < ARRAY_SIZE(files); i++) {
		char *name = text_format("%s/%s", path, files[i].name);

		directory_file(root, name, make ? files[i].text : NULL);
		free(name);
	}
}

int instance_make(const char *root, const char *path)
{
	int error = directory_make(root, path);

	if (!error)
		stand_in(root, path, true);
	return error == EEXIST ? 0 : error;
}

int instance_pipe(const char *root, const char *path, int cpu)
{
	char *pipe = text_format("%s/per_cpu/cpu%d/trace_pipe",
				 root_live(root) ? path : INSTANCE_TRACEFS, cpu);
	int file = root_open(root, pipe, O_RDONLY | O_NONBLOCK), error = errno;

	free(pipe);
	errno = error;
	return file;
}

int instance_remove(const char *root, const char *path)
{
	int error;

	/* Nothing but an instance that this command has made. */
	if (strncmp(path, OURS, strlen(OURS)) || strchr(path + strlen(OURS), '/'))
		return EINVAL;
	stand_in(root, path, false);
	error = directory_remove(root, path);
	return error == ENOENT ? 0 : error;
}
