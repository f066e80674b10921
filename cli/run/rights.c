// SPDX-License-Identifier: GPL-2.0-or-later
/* What this process may not do, found out before anything is changed. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/capability.h>

#include "base/array.h"
#include "base/error.h"
#include "base/root.h"
#include "base/setting.h"
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

/* Why cpuset is not to be had in version 2 of cgroups, and what helps on this machine. */
static const char *without_group(const char *root)
{
	char *mounts = setting_read(root, "/proc/self/mounts"), *next = mounts, *line;
	bool here = false, elsewhere = false;
	int systemd = root_open(root, "/run/systemd/system", O_RDONLY | O_DIRECTORY);

	if (systemd >= 0)
		close(systemd);
	while ((line = strsep(&next, "\n"))) {
		char place[PATH_MAX], type[16];

		if (sscanf(line, "%*s %4095s %15s", place, type) != 2 || strcmp(type, "cgroup2"))
			continue;
		here |= !strcmp(place, GROUP_TOP);
		elsewhere |= strcmp(place, GROUP_TOP);
	}
	free(mounts);
	if (here)
		return "cgroup version 2 has no controller cpuset here (version 1 uses it, or the kernel lacks CONFIG_CPUSETS): other tasks stay on the CPU; isolator shield set --processes helps";
	if (systemd >= 0 && !elsewhere)
		return "cgroup version 2 is not mounted: other tasks stay on the CPU; boot with systemd.unified_cgroup_hierarchy=1";
	return elsewhere ?
		"cgroup version 2 is mounted, but not there: other tasks stay on the CPU; isolator shield set --processes helps" :
		"cgroup version 2 is not mounted: other tasks stay on the CPU; isolator shield set --processes helps";
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
			without_group(run->root), false,
		};
	} else if (error) {
		list = cpulist_text(&run->own);
		command = text_format("echo +cpuset > " GROUP_TOP "/cgroup.subtree_control\n"
				      "mkdir " GROUP_TOP "/quiet\n"
				      "echo %s > " GROUP_TOP "/quiet/cpuset.cpus\n"
				      "echo isolated > " GROUP_TOP "/quiet/cpuset.cpus.partition",
				      list);
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
		  "missing; needed to move kernel threads, and for --policy fifo and rr",
		  !run->no_settings || run->policy != RUN_OTHER },
		{ CAP_IPC_LOCK, "CAP_IPC_LOCK", "missing; needed to lock the memory of the isolated program",
		  run->isolate },
		{ CAP_SETUID, "CAP_SETUID", "missing; needed to run the program as its user",
		  run->user.given },
		{ CAP_SETGID, "CAP_SETGID", "missing; needed to run the program as its user",
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

static void put_lacks(FILE *out, const struct run *run)
{
	bool commands = false;

	for (size_t i = 0; i < run->nr_lacks; i++) {
		fputs("  ", out);
		term_put(out, run->lacks[i].what);
		fputs(": ", out);
		term_put(out, run->lacks[i].why);
		fputc('\n', out);
		commands |= run->lacks[i].command != NULL;
	}
	if (commands && !geteuid())
		fputs("run these on the host instead, as root:\n", out);
	for (size_t i = 0; i < run->nr_lacks && !geteuid(); i++) {
		/* A line each: all of it can be copied. */
		for (const char *at = run->lacks[i].command; at && *at; at += *at == '\n') {
			char *line = text_format("%.*s", (int)strcspn(at, "\n"), at);

			fputs("  ", out);
			term_put(out, line);
			fputc('\n', out);
			at += strlen(line);
			free(line);
		}
	}
	fputs(run->best_effort ? "--best-effort: the run goes on without these\n" :
	      "nothing was changed; --best-effort goes on without these\n", out);
}

void run_tell_lacks(const struct run *run)
{
	struct term_folded folded;

	error_say("cannot do everything here%s:",
		  geteuid() ? "; run it as root: sudo isolator run" : "");
	term_folded_open(&folded);
	put_lacks(folded.stream, run);
	term_folded_close(&folded, stderr);
}
