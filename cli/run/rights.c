// SPDX-License-Identifier: GPL-2.0-or-later
/* What this process may not do, found out before anything is changed. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/capability.h>

#include "base/array.h"
#include "base/error.h"
#include "base/root.h"
#include "base/term.h"
#include "base/text.h"
#include "journal/store.h"
#include "machine/user.h"
#include "proc/device.h"
#include "run/run.h"

void run_lack(struct run *run, const char *what, const char *why, const char *command)
{
	for (size_t i = 0; i < run->nr_lacks; i++)
		if (!strcmp(run->lacks[i].what, what))
			return;
	*ARRAY_ADD(run->lacks, run->nr_lacks) = (struct run_lack){
		text_format("%s", what), text_format("%s", why),
		command ? text_format("%s", command) : NULL,
	};
}

/* The journal must be written; without it nothing may be changed. */
static void look_at_journal(struct run *run)
{
	const char *path = STORE_PATH;
	int fd = root_open(run->root, path, O_RDONLY | O_DIRECTORY);

	if (fd < 0 && errno == ENOENT) {
		path = "/run";
		fd = root_open(run->root, path, O_RDONLY | O_DIRECTORY);
	}
	if (fd < 0 && errno == ENOENT) {
		path = "/";
		fd = root_open(run->root, path, O_RDONLY | O_DIRECTORY);
	}
	if (fd < 0 || faccessat(fd, ".", W_OK, AT_EACCESS)) {
		run->no_journal = true;
		run_lack(run, path, strerror(errno), NULL);
	}
	if (fd >= 0)
		close(fd);
}

static void look_at_group(struct run *run)
{
	const char *path;
	int error = group_possible(run->root, &path);
	char *list, *command;

	run->partition = !error;
	if (error == ENOENT) {
		*ARRAY_ADD(run->missing, run->nr_missing) = (struct run_missing){
			"cpuset.partition", text_format("%s", path),
			"no cgroup of version 2 with the controller cpuset: other tasks stay on the CPU; boot with systemd.unified_cgroup_hierarchy=1",
		};
	} else if (error) {
		list = cpulist_text(&run->own);
		command = text_format("echo +cpuset > %s/cgroup.subtree_control; mkdir %s/quiet; echo %s > %s/quiet/cpuset.cpus; echo isolated > %s/quiet/cpuset.cpus.partition",
				      GROUP_TOP, GROUP_TOP, list, GROUP_TOP, GROUP_TOP);
		run_lack(run, path, strerror(error), command);
		free(command);
		free(list);
	}
}

static void look_at_device(struct run *run)
{
	int fd = device_open(run->root);

	if (fd < 0)
		run_lack(run, DEVICE_PATH, strerror(errno), NULL);
	else
		close(fd);
}

/* What files cannot tell; below another root nothing of it is done. */
static void look_at_capabilities(struct run *run)
{
	const struct {
		int number;
		const char *name, *why;
		bool wanted;
	} needs[] = {
		{ CAP_SYS_NICE, "CAP_SYS_NICE",
		  "missing; it is needed to move threads of the kernel, and for --policy fifo and rr",
		  !run->no_settings || run->policy != RUN_OTHER },
		{ CAP_IPC_LOCK, "CAP_IPC_LOCK", "missing; it is needed to lock the isolated program's memory",
		  run->isolate },
		{ CAP_SETUID, "CAP_SETUID", "missing; it is needed to run the program as its user",
		  run->user.given },
		{ CAP_SETGID, "CAP_SETGID", "missing; it is needed to run the program as its user",
		  run->user.given },
	};

	if (!root_live(run->root))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(needs); i++)
		if (needs[i].wanted && !user_may(needs[i].number))
			run_lack(run, needs[i].name, needs[i].why, NULL);
}

void run_look_at_rights(struct run *run)
{
	if (!run->no_settings) {
		look_at_journal(run);
		if (!run->attached)
			look_at_group(run);
	}
	if (run->isolate)
		look_at_device(run);
	look_at_capabilities(run);
}

void run_tell_lacks(const struct run *run)
{
	bool commands = false;

	error_say("not everything can be done here%s:",
		  geteuid() ? "; run it as root: sudo isolator run" : "");
	for (size_t i = 0; i < run->nr_lacks; i++) {
		fputs("  ", stderr);
		term_put(stderr, run->lacks[i].what);
		fputs(": ", stderr);
		term_put(stderr, run->lacks[i].why);
		fputc('\n', stderr);
		commands |= run->lacks[i].command != NULL;
	}
	if (commands && !geteuid())
		fputs("what the host must do instead, as root:\n", stderr);
	for (size_t i = 0; i < run->nr_lacks; i++)
		if (run->lacks[i].command && !geteuid()) {
			fputs("  ", stderr);
			term_put(stderr, run->lacks[i].command);
			fputc('\n', stderr);
		}
	fputs(run->best_effort ? "--best-effort: it goes on without these\n" :
	      "nothing was changed; --best-effort goes on without these\n", stderr);
}
