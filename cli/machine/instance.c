// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/array.h"
#include "base/directory.h"
#include "base/root.h"
#include "base/setting.h"
#include "base/text.h"
#include "machine/instance.h"

#define INSTANCES INSTANCE_TRACEFS "/instances/"
#define OURS INSTANCES "isolator-"

/* What the kernel shows in a new one, for a root that has no kernel. */
static const struct directory_file files[] = {
	{ "tracing_on", "1\n" }, { "current_tracer", "nop\n" }, { "trace_clock", "[local] mono\n" },
	{ "buffer_size_kb", "7\n" }, { "tracing_cpumask", "f\n" }, { "set_event", "" },
	{ 0 },
};

/* Attached to this process, and seen by nobody else; -1 with errno. */
static int attach(void)
{
	int context = fsopen("tracefs", FSOPEN_CLOEXEC), mount = -1, error;

	if (context < 0)
		return -1;
	if (!fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		mount = fsmount(context, FSMOUNT_CLOEXEC, 0);
	error = errno;
	close(context);
	errno = error;
	return mount;
}

/* Where it is mounted; -1 with errno, ENOENT: nowhere.  *@place: what was looked at. */
static int find(const char **place)
{
	static const char *const places[] = { INSTANCE_TRACEFS, "/sys/kernel/debug/tracing" };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		int fd = open(*place = places[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		struct statfs type;

		if (fd >= 0 && !fstatfs(fd, &type) && type.f_type == TRACEFS_MAGIC)
			return fd;
		if (fd < 0 && errno == EACCES)
			return -1;
		if (fd >= 0)
			close(fd);
	}
	errno = ENOENT;
	return -1;
}

int instance_tracefs(char **why)
{
	static bool found;
	const char *place;
	int fd, error;

	if (found)
		return 0;
	fd = find(&place);
	if (fd < 0 && errno == EACCES) {
		*why = text_format("%s is not readable: it is for root", place);
		return EACCES;
	}
	if (fd < 0)
		fd = attach();
	if (fd < 0) {
		error = errno;
		*why = text_format("tracefs is not mounted, and cannot be: %s%s", strerror(error),
				   error == ENODEV ? ": this kernel is built without tracing (CONFIG_TRACING)" :
				   error == EPERM ? ": it needs CAP_SYS_ADMIN, and a kernel that is not locked down (/sys/kernel/security/lockdown)" :
				   "");
		return error;
	}
	root_graft(INSTANCE_TRACEFS, fd);
	found = true;
	return 0;
}

int instance_reach(const char *root, const char *path, char **why)
{
	if (!root_live(root) || strncmp(path, INSTANCE_TRACEFS "/", strlen(INSTANCE_TRACEFS "/")))
		return 0;
	return instance_tracefs(why);
}

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

int instance_make(const char *root, const char *path)
{
	int error = directory_make(root, path, files);

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
	error = directory_remove(root, path, files);
	return error == ENOENT ? 0 : error;
}
