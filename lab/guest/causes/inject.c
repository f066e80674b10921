// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * inject: opens a window, makes the causes named one after another at the measured CPU,
 * closes the window, and prints what happened when, as one line of JSON.  A window with no
 * cause is quiet: a control.
 */
#include <ctype.h>
#include <dirent.h>
#include <getopt.h>
#include <inttypes.h>
#include "../marker.h"
#include "cause.h"

MARK_ASK_TABLE();
extern const char mark_ask_begin_table[], mark_ask_end_table[];

static const char usage[] =
"usage: inject --program NAME [options] [CAUSE SIZE]...\n"
"  --program NAME  whose thread fills the CPU\n"
"  --cpu N         the CPU that it fills, alone in its affinity (1)\n"
"  --other N       where inject runs (0)\n"
"  --settle MS     quiet time between preparing and the window (100)\n"
"  --window ID     marks the window for the observer by this number\n"
"  --around MS     quiet time in the window before and after a cause (50)\n"
"example:\n"
"  inject --program isolator hog 10 irq 16384\n";

enum { MAX_CAUSES = 4, BETWEEN_NS = 20000000 };

struct injection {
	const struct cause *cause;
	long size;
	struct truth truth;
	int error;		/* the first one */
	const char *in;		/* what failed */
};

static struct {
	const char *program;
	long settle_ms, around_ms;
	unsigned int window;	/* 0: not marked */
} opt = { .settle_ms = 100, .around_ms = 50 };

static bool first_line(const char *path, char *line, int size)
{
	FILE *f = fopen(path, "re");
	bool got = f && fgets(line, size, f);

	if (f)
		fclose(f);
	if (got)
		line[strcspn(line, "\n")] = 0;
	return got;
}

/* Does this thread run on @cpu only? */
static bool fills(const char *pid, const char *tid, int cpu)
{
	char path[600], line[256];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/task/%s/status", pid, tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "Cpus_allowed_list:", 18)) {
			char *end, *list = line + 18;

			found = strtol(list, &end, 10) == cpu && *end == '\n';
		}
	if (f)
		fclose(f);
	return found;
}

/* The first thread of process @pid that fills the CPU, or 0. */
static pid_t find_thread(const char *pid, int cpu)
{
	struct dirent *entry;
	char path[300];
	pid_t found = 0;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%s/task", pid);
	tasks = opendir(path);
	while (tasks && !found && (entry = readdir(tasks)))
		if (isdigit((unsigned char)entry->d_name[0]) && fills(pid, entry->d_name, cpu))
			found = (pid_t)atoi(entry->d_name);
	if (tasks)
		closedir(tasks);
	return found;
}

static bool find_task(struct aim *aim)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	char path[300], comm[64];

	while (proc && !aim->tid && (entry = readdir(proc))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		if (!first_line(path, comm, sizeof(comm)) || strcmp(comm, opt.program))
			continue;
		aim->pid = (pid_t)atoi(entry->d_name);
		aim->tid = find_thread(entry->d_name, aim->cpu);
	}
	if (proc)
		closedir(proc);
	return aim->tid;
}

static const struct cause *find_cause(const char *name)
{
	for (const struct cause *c = __start_causes; c < __stop_causes; c++)
		if (!strcmp(c->name, name))
			return c;
	return NULL;
}

static void failed(struct injection *injection, int error, const char *in)
{
	if (error && !injection->error) {
		injection->error = error;
		injection->in = in;
	}
}

static int64_t realtime_offset(void)
{
	struct timespec real;
	uint64_t mono = now_ns();

	clock_gettime(CLOCK_REALTIME, &real);
	return (int64_t)real.tv_sec * 1000000000 + real.tv_nsec - (int64_t)mono;
}

static void print_window(const struct aim *aim, uint64_t open, uint64_t close,
			 const struct injection *injections, int count)
{
	printf("{\"open_ns\":%" PRIu64 ",\"close_ns\":%" PRIu64 ",\"realtime_offset_ns\":%" PRId64
	       ",\"pid\":%d,\"tid\":%d,\"injected\":[", open, close, realtime_offset(),
	       aim->pid, aim->tid);
	for (int i = 0; i < count; i++) {
		const struct injection *in = &injections[i];

		printf("%s{\"cause\":\"%s\",\"size\":%ld,\"unit\":\"%s\",\"from_ns\":%" PRIu64
		       ",\"to_ns\":%" PRIu64 ",\"happened\":%s,\"evidence\":{%s},\"error\":",
		       i ? "," : "", in->cause->name, in->size, in->cause->unit,
		       in->truth.from_ns, in->truth.to_ns,
		       in->truth.happened && !in->error ? "true" : "false", in->truth.evidence);
		if (in->error)
			printf("\"%s: %s\"}", in->in, strerror(-in->error));
		else
			printf("null}");
	}
	printf("]}\n");
}

static int run(const struct aim *aim, struct injection *injections, int count)
{
	uint64_t open, close;
	int bad = 0;

	for (int i = 0; i < count; i++)
		failed(&injections[i], injections[i].cause->prepare(aim, injections[i].size),
		       "prepare");
	sleep_until(now_ns() + (uint64_t)opt.settle_ms * 1000000);
	open = now_ns();
	if (opt.window)
		mark_window(mark_ask_begin_table, opt.window);
	sleep_until(open + (uint64_t)opt.around_ms * 1000000);
	for (int i = 0; i < count; i++) {
		struct injection *in = &injections[i];

		if (i)
			sleep_until(now_ns() + BETWEEN_NS);
		if (!in->error)
			failed(in, in->cause->inject(aim, in->size, &in->truth), "inject");
	}
	sleep_until(now_ns() + (uint64_t)opt.around_ms * 1000000);
	close = now_ns();
	if (opt.window)
		mark_window(mark_ask_end_table, opt.window);
	for (int i = 0; i < count; i++) {
		injections[i].cause->restore(aim);
		bad += injections[i].error || !injections[i].truth.happened;
	}
	print_window(aim, open, close, injections, count);
	return bad ? 1 : 0;
}

static void wrong(const char *text, const char *what)
{
	fprintf(stderr, "inject: %s: %s\n%s", text, what, usage);
	exit(1);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "program", required_argument, NULL, 'p' },
		{ "cpu", required_argument, NULL, 'c' },
		{ "other", required_argument, NULL, 'o' },
		{ "settle", required_argument, NULL, 's' },
		{ "around", required_argument, NULL, 'a' },
		{ "window", required_argument, NULL, 'w' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct injection injections[MAX_CAUSES] = { 0 };
	struct aim aim = { .cpu = 1, .other = 0 };
	int got, count = 0;

	while ((got = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (got) {
		case 'p': opt.program = optarg; break;
		case 'c': aim.cpu = atoi(optarg); break;
		case 'o': aim.other = atoi(optarg); break;
		case 's': opt.settle_ms = atol(optarg); break;
		case 'a': opt.around_ms = atol(optarg); break;
		case 'w': opt.window = (unsigned int)atoi(optarg); break;
		case 'h': fputs(usage, stdout); return 0;
		default: fputs(usage, stderr); return 1;
		}
	}
	if (!opt.program)
		wrong("missing", "--program");
	if (opt.window >= MARK_WINDOWS)
		wrong("no such window", "--window");
	for (; optind < argc; optind += 2, count++) {
		if (count == MAX_CAUSES)
			wrong("too many causes", argv[optind]);
		injections[count].cause = find_cause(argv[optind]);
		if (!injections[count].cause)
			wrong("no such cause", argv[optind]);
		if (optind + 1 == argc || atol(argv[optind + 1]) < 1)
			wrong("a cause needs a size", argv[optind]);
		injections[count].size = atol(argv[optind + 1]);
	}
	if (pin(0, aim.other) || mlockall(MCL_CURRENT | MCL_FUTURE)) {
		perror("inject: affinity, memory");
		return 1;
	}
	if (!find_task(&aim)) {
		fprintf(stderr, "inject: no thread of %s runs on CPU %d alone\n", opt.program,
			aim.cpu);
		return 1;
	}
	return run(&aim, injections, count);
}
