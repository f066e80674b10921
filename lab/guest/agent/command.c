// SPDX-License-Identifier: GPL-2.0-or-later
/* Shell commands: run to their end, or in the background until they are killed. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent.h"
#include "command.h"
#include "event.h"

#define MAX_STARTED	16

struct command {
	char name[64];
	pid_t pid;
	bool done;
	bool left;	/* processes that cannot be killed */
	int status;
	double begin, end;
};

static struct command started[MAX_STARTED];
static unsigned int nr_started;

/*
 * Marks the place in the kernel log, so that the host can cut it by command.
 * Not by dprintf(): it seeks first, which /dev/kmsg refuses.
 */
static void mark_log(const char *what, const char *name)
{
	int fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
	char line[128];
	int n = snprintf(line, sizeof(line), "<5>isolab: %s %s\n", what, name);

	if (fd < 0 || write(fd, line, (size_t)n) != n)
		fprintf(stderr, "agent: cannot write to /dev/kmsg\n");
	if (fd >= 0)
		close(fd);
}

static void out_path(char *path, size_t size, const char *name)
{
	snprintf(path, size, "/run/out.%s", name);
}

static pid_t spawn(const char *name, const char *command)
{
	char path[128];
	sigset_t none;
	pid_t pid;
	int fd;

	out_path(path, sizeof(path), name);
	pid = fork();
	if (pid)
		return pid;
	setsid();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	if (fd >= 0) {
		dup2(fd, 1);
		dup2(fd, 2);
	}
	fd = open("/dev/null", O_RDONLY);
	if (fd >= 0)
		dup2(fd, 0);
	execl("/bin/sh", "sh", "-c", command, NULL);
	_exit(127);
}

/* Takes in every child that has ended; orphans too, as process 1 must. */
static void reap(struct command *extra)
{
	unsigned int i;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (extra && pid == extra->pid) {
			extra->done = true;
			extra->status = status;
			extra->end = now();
		}
		for (i = 0; i < nr_started; i++) {
			if (started[i].pid != pid)
				continue;
			started[i].done = true;
			started[i].status = status;
			started[i].end = now();
		}
	}
}

void command_reap(void)
{
	reap(NULL);
}

bool command_ended(const char *name, char *text, size_t size)
{
	char path[128], said[512] = "";
	unsigned int i;
	ssize_t n;
	int fd;

	for (i = 0; i < nr_started; i++) {
		struct command *c = &started[i];

		if (strcmp(c->name, name) || !c->done)
			continue;
		out_path(path, sizeof(path), name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		n = fd < 0 ? 0 : read(fd, said, sizeof(said) - 1);
		said[n > 0 ? n : 0] = '\0';
		if (fd >= 0)
			close(fd);
		snprintf(text, size, "it ended by %s %d: %s",
			 WIFEXITED(c->status) ? "exit status" : "signal",
			 WIFEXITED(c->status) ? WEXITSTATUS(c->status) : WTERMSIG(c->status), said);
		return true;
	}
	return false;
}

/* Waits until @c is done or @ms have passed; true if it is done. */
static bool wait_for(struct command *c, struct command *extra, long ms)
{
	double until = now() + (double)ms / 1000;
	struct timespec ts = { 0, 50000000 };
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	for (;;) {
		reap(extra);
		if (c->done)
			return true;
		if (now() >= until)
			return false;
		sigtimedwait(&child, NULL, &ts);
	}
}

static void report_command(const char *event, const struct command *c, bool returned)
{
	char path[128];

	begin_event(event, c->name);
	fprintf(report, ", \"returned\": %s, \"seconds\": %.6f",
		returned ? "true" : "false", (c->done ? c->end : now()) - c->begin);
	if (c->done && WIFEXITED(c->status))
		fprintf(report, ", \"exit\": %d, \"signal\": 0", WEXITSTATUS(c->status));
	else if (c->done)
		fprintf(report, ", \"exit\": null, \"signal\": %d", WTERMSIG(c->status));
	else
		fputs(", \"exit\": null, \"signal\": 0", report);
	out_path(path, sizeof(path), c->name);
	put_file("out", path);
	if (c->left)
		fputs(", \"left\": true", report);
	if (!returned || c->left) {
		/* Where it hangs, for the one who has to mend it. */
		snprintf(path, sizeof(path), "/run/hang.%s", c->name);
		put_file("hang", path);
	}
	end_event();
}

static void save_hang(const struct command *c)
{
	char line[512];
	int n;

	n = snprintf(line, sizeof(line),
		     "for p in $(ps -o pid,sid | awk '$2 == %d { print $1 }'); do "
		     "echo \"pid $p $(cat /proc/$p/comm) $(cat /proc/$p/wchan)\"; "
		     "cat /proc/$p/stack; done > /run/hang.%.63s 2>&1",
		     (int)c->pid, c->name);
	if (n < 0 || (size_t)n >= sizeof(line) || system(line) < 0)
		problem("cannot save where %s hangs", c->name);
}

static void set_name(struct command *c, const char *name)
{
	memset(c, 0, sizeof(*c));
	snprintf(c->name, sizeof(c->name), "%s", name);
}

/*
 * Whatever a command has left behind is no other's: an isolated worker of a test that bailed out
 * would keep its CPU from the next.  Until all are gone, or for 30 s: a slow guest needs some.
 */
static void end_group(struct command *c)
{
	double until = now() + 30;

	while (!c->left && !kill(-c->pid, SIGKILL)) {
		c->left = now() >= until;
		reap(c);
		sleep_ms(5);
	}
	if (c->left)
		save_hang(c);
}

void command_run(char *name, char *rest)
{
	char *command = rest;
	long ms = strtol(rest, &command, 10);
	struct command c;
	bool returned;

	set_name(&c, name);
	mark_log("begin", name);
	c.begin = now();
	c.pid = spawn(name, command);
	returned = wait_for(&c, &c, ms);
	if (!returned)
		save_hang(&c);
	end_group(&c);
	mark_log("end", name);
	report_command("run", &c, returned);
}

void command_start(char *name, char *command)
{
	struct command *c;

	if (nr_started == MAX_STARTED) {
		problem("too many commands in the background: %s", name);
		return;
	}
	c = &started[nr_started++];
	set_name(c, name);
	c->begin = now();
	c->pid = spawn(name, command);
}

void command_kill(char *name, char *rest)
{
	long ms = strtol(rest, NULL, 10);
	unsigned int i;

	for (i = 0; i < nr_started; i++) {
		struct command *c = &started[i];
		bool returned, early;

		if (strcmp(c->name, name))
			continue;
		reap(NULL);
		early = c->done;
		if (!early)
			kill(-c->pid, SIGTERM);
		returned = wait_for(c, NULL, ms);
		if (!returned)
			save_hang(c);
		end_group(c);
		report_command(early ? "died" : "killed", c, returned);
		*c = started[--nr_started];
		return;
	}
	problem("nothing of this name was started: %s", name);
}
