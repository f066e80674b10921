// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * agent: process 1 of the lab's guests, or a service of a distribution's.  As
 * process 1 it mounts what a guest needs.  Carries out the lines of /job/job one
 * after another, reports one JSON line for each on the second serial port, and
 * powers the guest off.
 *
 * Lines of a job (words are separated by one space):
 *	cpus LIST		everything from here on runs on these CPUs
 *	env NAME VALUE
 *	run NAME MS COMMAND	a shell command, killed after MS milliseconds
 *	start NAME COMMAND	the same in the background
 *	kill NAME MS		ends a started command, killed if it takes longer
 *	ctl NAME MS COMMAND	one command to the spinner
 *	task MS			waits for the spinner, sets TASK_TID and TASK_PID
 *	file NAME PATH		reports a file's text, the end of it if it is long
 *	whole NAME PATH		the same in as many parts as it takes
 *	sleep MS
 *	mark			remembers the time
 *	until MS		sleeps until MS milliseconds after the mark
 *	orders PATH		lines like these from a serial port, until one is "done"
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent.h"
#include "command.h"
#include "ctl.h"
#include "event.h"

#define JOB		"/job/job"

static double marked;

double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

void sleep_ms(long ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&ts, NULL);
}

static void sleep_until(double when)
{
	double left = when - now();

	if (left > 0)
		sleep_ms((long)(left * 1000));
}

static void no_answer(char *answer, size_t size, int error)
{
	snprintf(answer, size, "no answer of a spinner at " SPINNER_SOCKET ": %s",
		 strerror(-error));
}

static void do_ctl(char *name, char *rest)
{
	static char answer[OUT_MAX];
	char *command = rest;
	long ms = strtol(rest, &command, 10);
	double begin = now();
	int ret;

	while (*command == ' ')
		command++;
	ret = spinner_ask(SPINNER_SOCKET, command, answer, sizeof(answer), ms);
	if (ret && !answer[0])
		no_answer(answer, sizeof(answer), ret);
	begin_event("ctl", name);
	fprintf(report, ", \"returned\": %s, \"seconds\": %.6f, \"answer\": ",
		ret == 0 ? "true" : "false", now() - begin);
	if (ret == 0 && answer[0] == '{')
		fputs(answer, report);
	else
		put_string(answer, strlen(answer));
	end_event();
}

static void do_task(char *ms)
{
	char answer[1024], value[32];
	double until = now() + (double)strtol(ms, NULL, 10) / 1000;
	long long tid = 0, pid = 0;

	while (now() < until) {
		int error = spinner_ask(SPINNER_SOCKET, "ready?", answer, sizeof(answer), 1000);

		tid = spinner_number(answer, "tid");
		pid = spinner_number(answer, "pid");
		if (!error && tid > 0 && pid > 0 && strstr(answer, "\"ready\":true"))
			break;
		if (error && !answer[0])
			no_answer(answer, sizeof(answer), error);
		tid = pid = 0;
		command_reap();
		if (command_ended("spinner", answer, sizeof(answer)))
			break;
		sleep_ms(20);
	}
	begin_event("task", "spinner");
	fprintf(report, ", \"returned\": %s, \"tid\": %lld, \"pid\": %lld, \"last\": ",
		tid ? "true" : "false", tid, pid);
	put_string(answer, strlen(answer));
	end_event();
	snprintf(value, sizeof(value), "%lld", tid);
	setenv("TASK_TID", value, 1);
	snprintf(value, sizeof(value), "%lld", pid);
	setenv("TASK_PID", value, 1);
}

static void do_cpus(const char *list)
{
	const char *p = list;
	cpu_set_t set;
	char *end;

	CPU_ZERO(&set);
	while (*p) {
		long a = strtol(p, &end, 10), b = a;

		if (*end == '-')
			b = strtol(end + 1, &end, 10);
		for (; a <= b; a++)
			CPU_SET((size_t)a, &set);
		p = *end ? end + 1 : end;
	}
	if (sched_setaffinity(0, sizeof(set), &set))
		problem("cannot run on CPUs %s: %s", list, strerror(errno));
}

static void do_file(char *name, char *path)
{
	begin_event("file", name);
	put_file("text", path);
	end_event();
}

/*
 * One event a part; none says that there is no such file.  PREEMPT_RT runs the port's handler in
 * a thread, which finds most of its interrupts served already; of 100 000 such the kernel turns
 * the interrupt off.  It forgets those before a tenth of a second without any.
 */
static void do_whole(char *name, char *path)
{
	static const struct timespec quiet = { .tv_nsec = 200000000 };
	static char buf[OUT_MAX];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		problem("cannot read %s: %s", path, strerror(errno));
	while (fd >= 0 && (n = read(fd, buf, sizeof(buf))) > 0) {
		begin_event("part", name);
		fputs(", \"text\": ", report);
		put_string(buf, (size_t)n);
		end_event();
		report_drain();
		nanosleep(&quiet, NULL);
	}
	if (fd >= 0)
		close(fd);
}

static void do_orders(const char *path);

static void do_line(char *line)
{
	char *words[2] = { "", "" }, *verb = line, *p = line;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		p = strchr(p, ' ');
		if (!p)
			break;
		*p++ = 0;
		words[i] = p;
		if (i == 0 && (!strcmp(verb, "cpus") || !strcmp(verb, "sleep") ||
			       !strcmp(verb, "until") || !strcmp(verb, "task")))
			break;
	}
	if (!strcmp(verb, "cpus"))
		do_cpus(words[0]);
	else if (!strcmp(verb, "env"))
		setenv(words[0], words[1], 1);
	else if (!strcmp(verb, "run"))
		command_run(words[0], words[1]);
	else if (!strcmp(verb, "start"))
		command_start(words[0], words[1]);
	else if (!strcmp(verb, "kill"))
		command_kill(words[0], words[1]);
	else if (!strcmp(verb, "ctl"))
		do_ctl(words[0], words[1]);
	else if (!strcmp(verb, "task"))
		do_task(words[0]);
	else if (!strcmp(verb, "file"))
		do_file(words[0], words[1]);
	else if (!strcmp(verb, "whole"))
		do_whole(words[0], words[1]);
	else if (!strcmp(verb, "mark"))
		marked = now();
	else if (!strcmp(verb, "until"))
		sleep_until(marked + (double)strtol(words[0], NULL, 10) / 1000);
	else if (!strcmp(verb, "sleep"))
		sleep_ms(strtol(words[0], NULL, 10));
	else if (!strcmp(verb, "orders"))
		do_orders(words[0]);
	else
		problem("unknown line in the job: %s", verb);
}

/* The host waits for the report before it sends any. */
static void do_orders(const char *path)
{
	static char line[8192];
	FILE *port;
	int fd = port_open(path);

	port = fd < 0 ? NULL : fdopen(fd, "r");
	if (!port) {
		problem("cannot read orders from %s: %s", path, strerror(errno));
		return;
	}
	port_raw(fd);
	begin_event("orders", path);
	end_event();
	while (fgets(line, sizeof(line), port)) {
		line[strcspn(line, "\n")] = 0;
		if (!strcmp(line, "done"))
			break;
		if (line[0])
			do_line(line);
	}
	fclose(port);
}

/*
 * The lab's own serial ports interrupt the first CPU.  Elsewhere their interrupt
 * threads would starve beside a FIFO task, and the reports with them.
 */
static void move_irqs(void)
{
#ifdef __x86_64__
	static const char *const ports[] = { "/proc/irq/3", "/proc/irq/4" };
	char path[64];
	unsigned int i;

	for (i = 0; i < 2; i++) {
		int fd;

		snprintf(path, sizeof(path), "%s/smp_affinity_list", ports[i]);
		fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (write(fd, "0", 1) != 1)
			fprintf(stderr, "agent: cannot move %s\n", path);
		close(fd);
	}
#endif	/* elsewhere they have no numbers of their own, and begin on the first CPU */
}

static void do_mount(const char *type, const char *where, const char *options)
{
	mkdir(where, 0755);
	if (mount(type, where, type, 0, options) && errno != EBUSY)
		fprintf(stderr, "agent: mount %s: %s\n", where, strerror(errno));
}

static void mount_all(void)
{
	do_mount("devtmpfs", "/dev", NULL);
	do_mount("proc", "/proc", NULL);
	do_mount("sysfs", "/sys", NULL);
	do_mount("tmpfs", "/run", NULL);
	do_mount("tmpfs", "/tmp", NULL);
	do_mount("tmpfs", "/dev/shm", NULL);
	do_mount("devpts", "/dev/pts", NULL);
	do_mount("debugfs", "/sys/kernel/debug", NULL);
	do_mount("tracefs", "/sys/kernel/tracing", NULL);
	do_mount("cgroup2", "/sys/fs/cgroup", NULL);
}

static void set_up(void)
{
	sigset_t child;

	if (getpid() == 1)
		mount_all();
	setenv("PATH", "/bin:/sbin:/usr/bin:/usr/sbin:/lab/bin", 1);
	setenv("HOME", "/tmp", 1);
	setenv("LAB", "/lab", 1);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	if (!report_open())
		reboot(RB_POWER_OFF);
	/* A distribution's guest stays as it came. */
	if (getpid() == 1)
		move_irqs();
}

int main(void)
{
	static char line[8192];
	FILE *job;

	set_up();
	begin_event("up", "agent");
	fprintf(report, ", \"seconds\": %.3f", now());
	end_event();
	job = fopen(JOB, "re");
	if (!job)
		problem("no " JOB);
	while (job && fgets(line, sizeof(line), job)) {
		line[strcspn(line, "\n")] = 0;
		if (line[0] && line[0] != '#')
			do_line(line);
	}
	begin_event("end", "agent");
	fprintf(report, ", \"seconds\": %.3f", now());
	end_event();
	report_drain();
	reboot(RB_POWER_OFF);
	for (;;)
		pause();
}
