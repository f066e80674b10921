// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * spinner: one thread that fills a CPU, isolated or not, and one that serves
 * commands about it on a Unix socket from the other CPUs.
 */
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "selftrigger.h"
#include "spin.h"

static const char usage[] =
"usage: spinner --cpu N [options]\n"
"  --cpu N            the CPU to fill\n"
"  --policy fifo|other  scheduling policy (fifo)\n"
"  --prio P           FIFO priority (50)\n"
"  --isolate          isolate the thread with /dev/isolator\n"
"  --tick-ms T        time between ticks (10)\n"
"  --deadline-ms D    deadline D (the kernel's default)\n"
"  --spin-ms S        deadline D_spin (the kernel's default)\n"
"  --yield-ms Y       for how long a tick yields at most (the kernel's default)\n"
"  --ctl PATH         socket for commands (/run/spinner.sock)\n"
"commands: ready?  status  probe  control ID N  window ID [notick]  endwindow  self NAME  quit\n"
"example:\n"
"  spinner --cpu 1 --isolate --tick-ms 10 &\n"
"  spinctl 'window 7'; sleep 1; spinctl endwindow\n";

void self_say(struct self_answer *answer, bool worked, const char *format, ...)
{
	va_list ap;

	answer->worked = worked;
	va_start(ap, format);
	vsnprintf(answer->detail, sizeof(answer->detail), format, ap);
	va_end(ap);
}

struct self_run {
	const struct self_trigger *trigger;
	struct self_answer answer;
};

static void *self_body(void *arg)
{
	struct sched_param param = { 0 };
	struct self_run *run = arg;

	/* The commands are served first in first out, the work is not. */
	sched_setscheduler(0, SCHED_OTHER, &param);
	run->trigger->run(&run->answer);
	return NULL;
}

static void command_self(FILE *out, const char *name)
{
	struct self_run run = { 0 };
	pthread_attr_t attr;
	pthread_t thread;

	for (const struct self_trigger *t = __start_self_triggers;
	     t < __stop_self_triggers; t++)
		if (!strcmp(t->name, name))
			run.trigger = t;
	if (!run.trigger) {
		fprintf(out, "{\"error\":\"no self trigger of this name\"}\n");
		return;
	}
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, SPIN_STACK);
	if (pthread_create(&thread, &attr, self_body, &run)) {
		fprintf(out, "{\"error\":\"pthread_create\"}\n");
		return;
	}
	pthread_join(thread, NULL);
	fprintf(out, "{\"worked\":%s,\"outcome\":\"done\",\"detail\":\"%s\"}\n",
		run.answer.worked ? "true" : "false", run.answer.detail);
}

static void command_window(FILE *out, const char *args)
{
	char word[16] = "";
	unsigned int id;

	if (sscanf(args, "%u %15s", &id, word) < 1) {
		fprintf(out, "{\"error\":\"window needs an ID\"}\n");
		return;
	}
	spin.window = id;
	spin.notick = !strcmp(word, "notick");
	if (!spin_do(SPIN_BEGIN, 10))
		fprintf(out, "{\"error\":\"the spinning thread does not answer\"}\n");
	else
		fprintf(out, "{\"window\":%u,\"notick\":%s}\n", id,
			spin.notick ? "true" : "false");
}

static void command_control(FILE *out, const char *args)
{
	unsigned int id, n;

	if (sscanf(args, "%u %u", &id, &n) != 2) {
		fprintf(out, "{\"error\":\"control needs an ID and a number of breakpoints\"}\n");
		return;
	}
	spin.window = id;
	spin.breakpoints = n;
	fprintf(out, "{\"controlled\":%s}\n", spin_do(SPIN_CONTROL, 10) ? "true" : "false");
}

static void command_endwindow(FILE *out)
{
	static const char *const names[] = {
		"page_ticks", "queued", "deferred", "excluded", "missed",
		"immediate", "yields",
	};
	bool notick = spin.notick;

	if (!spin_do(SPIN_END, 10)) {
		fprintf(out, "{\"error\":\"the spinning thread does not answer\"}\n");
		return;
	}
	fprintf(out, "{\"window\":%u,\"notick\":%s,\"seconds\":%.6f,\"loops\":%lu,"
		"\"ticks\":%lu,\"ticks_due\":%lu,\"tick_errors\":%lu",
		spin.window, notick ? "true" : "false",
		(double)(spin.now.cycles - spin.begin.cycles) / (double)spin.cycles_hz,
		spin.now.loops - spin.begin.loops,
		spin.now.ticks - spin.begin.ticks,
		spin.now.ticks_due - spin.begin.ticks_due,
		spin.now.tick_errors - spin.begin.tick_errors);
	for (size_t i = 0; spin.page && i < sizeof(names) / sizeof(*names); i++)
		fprintf(out, ",\"%s\":%lu", names[i],
			spin.now.page[i] - spin.begin.page[i]);
	fprintf(out, "}\n");
}

static void command_status(FILE *out)
{
	fprintf(out, "{\"ready\":%s,\"pid\":%d,\"tid\":%d,\"cpu\":%d,\"isolated\":%s,"
		"\"signals\":%lu,\"loops\":%lu,\"tick_errors\":%lu",
		atomic_load(&spin.state) == 1 ? "true" : "false", getpid(),
		spin.tid, spin.opt.cpu,
		spin.page && spin.page->state == ISOLATOR_STATE_ON ? "true" : "false",
		atomic_load(&spin.signals), spin.now.loops, spin.now.tick_errors);
	if (spin.page)
		fprintf(out, ",\"achieved\":%u,\"got\":%u,\"deadline_ns\":%llu,"
			"\"spin_ns\":%llu,\"yield_ns\":%llu,\"state\":%u,\"end\":%u,\"due\":%u,"
			"\"queued\":%llu,\"deferred\":%llu,\"excluded\":%llu,"
			"\"missed\":%llu,\"immediate\":%llu,\"yields\":%llu",
			spin.start.achieved, spin.start.got, spin.start.deadline_ns,
			spin.start.spin_ns, spin.start.yield_ns,
			spin.page->state, spin.page->end,
			spin.page->due, spin.page->queued, spin.page->deferred,
			spin.page->excluded, spin.page->missed,
			spin.page->immediate, spin.page->yields);
	fprintf(out, "}\n");
}

/* Serves one connection; true: it asked to quit. */
static bool serve(int fd)
{
	FILE *in = fdopen(fd, "r"), *out = fdopen(dup(fd), "w");
	bool quit = false;
	char line[256];

	while (!quit && in && out && fgets(line, sizeof(line), in)) {
		line[strcspn(line, "\r\n")] = 0;
		if (!strncmp(line, "window ", 7))
			command_window(out, line + 7);
		else if (!strncmp(line, "control ", 8))
			command_control(out, line + 8);
		else if (!strcmp(line, "endwindow"))
			command_endwindow(out);
		else if (!strncmp(line, "self ", 5))
			command_self(out, line + 5);
		else if (!strcmp(line, "probe"))
			fprintf(out, "{\"probed\":%s}\n",
				spin_do(SPIN_PROBE, 10) ? "true" : "false");
		else if (!strcmp(line, "status") || !strcmp(line, "ready?"))
			command_status(out);
		else if (!strcmp(line, "quit")) {
			quit = true;
			fprintf(out, "{\"quit\":%s}\n",
				spin_do(SPIN_QUIT, 10) ? "true" : "false");
		} else
			fprintf(out, "{\"error\":\"unknown command, see spinner --help\"}\n");
		fflush(out);
	}
	if (in)
		fclose(in);
	if (out)
		fclose(out);
	return quit;
}

static int listen_on(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	unlink(path);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) || listen(fd, 4)) {
		perror("spinner: socket");
		exit(1);
	}
	return fd;
}

/* Keeps this thread on the other CPUs, ahead of the load that runs there. */
static void housekeep(void)
{
	struct sched_param param = { .sched_priority = 1 };
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set)) {
		perror("spinner: sched_getaffinity");
		exit(1);
	}
	CPU_CLR(spin.opt.cpu, &set);
	if (!CPU_COUNT(&set)) {	/* started with a mask that names only it */
		for (int cpu = 0; cpu < sysconf(_SC_NPROCESSORS_ONLN); cpu++)
			if (cpu != spin.opt.cpu)
				CPU_SET(cpu, &set);
	}
	if (sched_setaffinity(0, sizeof(set), &set) ||
	    sched_setscheduler(0, SCHED_FIFO, &param)) {
		perror("spinner: housekeeping");
		exit(1);
	}
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "cpu", required_argument, NULL, 'c' },
		{ "policy", required_argument, NULL, 'p' },
		{ "prio", required_argument, NULL, 'P' },
		{ "isolate", no_argument, NULL, 'i' },
		{ "tick-ms", required_argument, NULL, 't' },
		{ "deadline-ms", required_argument, NULL, 'd' },
		{ "spin-ms", required_argument, NULL, 's' },
		{ "yield-ms", required_argument, NULL, 'y' },
		{ "ctl", required_argument, NULL, 'l' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	const char *path = "/run/spinner.sock";
	int opt, fd, error;

	spin.opt = (struct spin_options){
		.cpu = -1, .fifo = true, .prio = 50, .tick_ms = 10,
	};
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case 'c': spin.opt.cpu = atoi(optarg); break;
		case 'p': spin.opt.fifo = !strcmp(optarg, "fifo"); break;
		case 'P': spin.opt.prio = atoi(optarg); break;
		case 'i': spin.opt.isolate = true; break;
		case 't': spin.opt.tick_ms = atof(optarg); break;
		case 'd': spin.opt.deadline_ms = atof(optarg); break;
		case 's': spin.opt.spin_ms = atof(optarg); break;
		case 'y': spin.opt.yield_ms = atof(optarg); break;
		case 'l': path = optarg; break;
		case 'h': fputs(usage, stdout); return 0;
		default: fputs(usage, stderr); return 1;
		}
	}
	if (spin.opt.cpu < 0 || spin.opt.tick_ms <= 0) {
		fputs(usage, stderr);
		return 1;
	}
	housekeep();
	fd = listen_on(path);
	if (mlockall(MCL_CURRENT | MCL_FUTURE)) {
		perror("spinner: mlockall");
		return 1;
	}
	error = spin_start();
	if (error) {
		fprintf(stderr, "spinner: %s: %s\n", spin.failed, strerror(-error));
		return 1;
	}
	for (;;) {
		int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

		if (client < 0 && errno != EINTR)
			break;
		if (client >= 0 && serve(client))
			break;
	}
	unlink(path);
	return 0;
}
