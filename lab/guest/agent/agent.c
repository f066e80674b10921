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
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "agent.h"

#define JOB		"/job/job"
/* The second port of a PC; on arm64 a card beside the board's own port. */
#ifdef __x86_64__
#define REPORT		"/dev/ttyS1"
#else
#define REPORT		"/dev/ttyS0"
#endif
/* A command's output that is reported: its end, where the verdict stands. */
#define OUT_MAX		12000
#define MAX_STARTED	16

struct command {
	char name[64];
	pid_t pid;
	bool done;
	int status;
	double begin, end;
};

static struct command started[MAX_STARTED];
static unsigned int nr_started;
static FILE *report;
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

static void put_string(const char *s, size_t len)
{
	size_t i;

	fputc('"', report);
	for (i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c == '"' || c == '\\')
			fprintf(report, "\\%c", c);
		else if (c == '\n')
			fputs("\\n", report);
		else if (c < 0x20 || c > 0x7e)
			fprintf(report, "\\u%04x", c);
		else
			fputc(c, report);
	}
	fputc('"', report);
}

static void begin_event(const char *event, const char *name)
{
	fprintf(report, "{\"event\": \"%s\", \"name\": ", event);
	put_string(name, strlen(name));
}

static void end_event(void)
{
	fputs("}\n", report);
	fflush(report);
}

/* Puts the last OUT_MAX bytes of @path into the event as @key. */
static void put_file(const char *key, const char *path)
{
	static char buf[OUT_MAX];
	size_t len = 0;
	ssize_t n;
	off_t size;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	fprintf(report, ", \"%s\": ", key);
	if (fd < 0) {
		fputs("null", report);
		return;
	}
	size = lseek(fd, 0, SEEK_END);
	if (size > OUT_MAX)
		lseek(fd, size - OUT_MAX, SEEK_SET);
	else
		lseek(fd, 0, SEEK_SET);
	while (len < sizeof(buf) && (n = read(fd, buf + len, sizeof(buf) - len)) > 0)
		len += (size_t)n;
	close(fd);
	put_string(buf, len);
}

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

static void problem(const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	begin_event("problem", "agent");
	fputs(", \"text\": ", report);
	put_string(text, strlen(text));
	end_event();
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
	if (!returned) {
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

static void do_run(char *name, char *rest)
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
	if (!returned) {
		save_hang(&c);
		kill(-c.pid, SIGKILL);
		wait_for(&c, &c, 3000);
	}
	mark_log("end", name);
	report_command("run", &c, returned);
}

static void do_start(char *name, char *command)
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

static void do_kill(char *name, char *rest)
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
		if (!returned) {
			save_hang(c);
			kill(-c->pid, SIGKILL);
			wait_for(c, NULL, 3000);
		}
		report_command(early ? "died" : "killed", c, returned);
		*c = started[--nr_started];
		return;
	}
	problem("nothing of this name was started: %s", name);
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
	ret = ctl_ask(command, answer, sizeof(answer), ms);
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
	long tid = 0, pid = 0;

	while (now() < until) {
		if (!ctl_ask("ready?", answer, sizeof(answer), 1000) &&
		    ctl_number(answer, "tid", &tid) && ctl_number(answer, "pid", &pid) &&
		    strstr(answer, "\"ready\":true"))
			break;
		tid = 0;
		reap(NULL);
		sleep_ms(20);
	}
	begin_event("task", "spinner");
	fprintf(report, ", \"returned\": %s, \"tid\": %ld, \"pid\": %ld, \"last\": ",
		tid ? "true" : "false", tid, pid);
	put_string(answer, strlen(answer));
	end_event();
	snprintf(value, sizeof(value), "%ld", tid);
	setenv("TASK_TID", value, 1);
	snprintf(value, sizeof(value), "%ld", pid);
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
		tcdrain(fileno(report));
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
		do_run(words[0], words[1]);
	else if (!strcmp(verb, "start"))
		do_start(words[0], words[1]);
	else if (!strcmp(verb, "kill"))
		do_kill(words[0], words[1]);
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
	int fd;

	if (getpid() == 1)
		mount_all();
	setenv("PATH", "/bin:/sbin:/usr/bin:/usr/sbin:/lab/bin", 1);
	setenv("HOME", "/tmp", 1);
	setenv("LAB", "/lab", 1);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	fd = open(REPORT, O_WRONLY | O_NOCTTY | O_CLOEXEC);
	if (fd < 0) {
		fprintf(stderr, "agent: no " REPORT ": is CONFIG_SERIAL_8250 set?\n");
		reboot(RB_POWER_OFF);
	}
	port_raw(fd);
	report = fdopen(fd, "w");
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
	tcdrain(fileno(report));
	reboot(RB_POWER_OFF);
	for (;;)
		pause();
}
