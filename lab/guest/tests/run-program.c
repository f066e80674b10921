// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: run-program
 * cpus: 2
 * kernel: isolator
 * timeout: 240
 * about: isolator run and attach isolate a program that knows nothing of it, and tell true
 */
#include "../test.h"

#define STATUS	"/proc/isolator/status"
#define STATS	"/proc/isolator/stats"
#define CPUS	"/proc/isolator/cpus"
#define FLAG	"/tmp/run-program.flag"
#define LOG	"/tmp/run-program.log"
#define JSON	"/tmp/run-program.json"
#define PATIENCE_MS 30000

static volatile unsigned char *flag;
static char isolator[256], plain[256];

/* A program with its output in @out; unpinned, as a shell would start it. */
static pid_t start(const char *out, char *const argv[])
{
	pid_t pid = fork();
	cpu_set_t both;
	int fd;

	if (pid < 0)
		bail_out("fork");
	if (pid)
		return pid;
	CPU_ZERO(&both);
	CPU_SET(0, &both);
	CPU_SET(1, &both);
	fd = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (sched_setaffinity(0, sizeof(both), &both) || fd < 0 || dup2(fd, 1) < 0 ||
	    dup2(fd, 2) < 0)
		_exit(98);
	execv(argv[0], argv);
	_exit(97);
}

/* Its exit code; -1 if a signal ended it. */
static int end(pid_t pid)
{
	int status = -1;

	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static char *text_of(const char *path)
{
	static char text[1 << 20];
	FILE *file = fopen(path, "r");
	size_t size = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

	text[size] = '\0';
	if (file)
		fclose(file);
	return text;
}

static void show(const char *path)
{
	char *next = text_of(path), *line;

	while ((line = strsep(&next, "\n")) && *line)
		diag("%s", line);
}

/* The number behind @key in CPU 1's line @line of the statistics; -1: none. */
static long long counted(const char *line, const char *key)
{
	char begin[32], *at = text_of(STATS), *stop;

	snprintf(begin, sizeof(begin), "cpu 1 %s ", line);
	at = strstr(at, begin);
	stop = at ? strchr(at, '\n') : NULL;
	if (stop)
		*stop = '\0';
	at = at ? strstr(at, key) : NULL;
	return at ? atoll(at + strlen(key)) : -1;
}

/* The same of the document, in what it says of CPU 1. */
static long long told(const char *path, const char *key)
{
	char quoted[32], *at = strstr(text_of(path), "\"cpus\":[{\"cpu\":1,");

	snprintf(quoted, sizeof(quoted), "\"%s\":", key);
	at = at ? strstr(at, quoted) : NULL;
	return at ? atoll(at + strlen(quoted)) : -1;
}

static void compare(const char *path)
{
	static const char *const own[] = { "ticks", "entries", "yields", "planned" };
	static const char *const totals[] = {
		"deferred", "excluded", "queued", "missed", "immediate",
	};
	char key[32];

	for (size_t i = 0; i < 4; i++) {
		snprintf(key, sizeof(key), "%s ", own[i]);
		ok(told(path, own[i]) >= 0 && told(path, own[i]) == counted("own", key),
		   "%s: told %lld, counted %lld", own[i], told(path, own[i]),
		   counted("own", key));
	}
	for (size_t i = 0; i < 5; i++) {
		snprintf(key, sizeof(key), "%s ", totals[i]);
		ok(told(path, totals[i]) >= 0 && told(path, totals[i]) == counted("total", key),
		   "%s: told %lld, counted %lld", totals[i], told(path, totals[i]),
		   counted("total", key));
	}
}

static bool spins(void)
{
	return comes(flag[1], PATIENCE_MS);
}

static bool isolated(void)
{
	return comes(file_has(STATUS, "cpu 1 isolated", NULL), PATIENCE_MS);
}

static void restored(void)
{
	char cpus[64] = "?";

	ok(file_has(STATUS, "isolated ", NULL) && !file_has(STATUS, "cpu 1 isolated", NULL),
	   "nothing is isolated afterwards");
	get_file(CPUS, cpus, sizeof(cpus));
	ok(cpus[0] == '\n' || !cpus[0], "no CPU stays allowed");
	ok(access("/run/isolator", F_OK) && errno == ENOENT, "no journal stays");
}

/* A run of the program, with or without a batch, and with or without system calls. */
static void run(const char *batch, bool calls)
{
	char *argv[16] = { isolator, "run", "-c", "1", "--json", "-o", JSON };
	bool asks = can_ask_kworker();
	int n = 7, code;
	pid_t pid;

	if (batch) {
		argv[n++] = "--batch";
		argv[n++] = (char *)batch;
	}
	argv[n++] = "--";
	argv[n++] = plain;
	argv[n++] = FLAG;
	if (calls)
		argv[n++] = "calls";
	flag[0] = flag[1] = 0;
	diag("%s%s", batch ? "with a batch period of " : "without a batch", batch ? batch : "");
	pid = start(LOG, argv);
	ok(spins(), "the program runs%s", calls ? ", and makes system calls" : "");
	ok(file_has(STATUS, "cpu 1 isolated", NULL), "and is isolated since before it began");
	if (asks && (batch || calls))
		ok(ask_kworker(), "work for a thread of its CPU is done");
	/* What finds it in a system call needs no tick. */
	for (int i = 0; i < 50 && asks && calls && !counted("own", "entries "); i++)
		ask_kworker();
	flag[0] = 7;
	code = end(pid);
	if (!ok(code == 7, "its exit status is passed on: %d", code))
		show(LOG);
	compare(JSON);
	if (asks && batch)
		ok(told(JSON, "planned") > 0, "a batch has interrupted it");
	if (asks && calls)
		ok(told(JSON, "entries") > 0, "its system calls were ticks");
	if (!batch)
		ok(!told(JSON, "planned"), "no interruption was planned");
	restored();
}

static int command(char *const argv[])
{
	int code = end(start(JSON, argv));

	if (code)
		show(JSON);
	return code;
}

static bool affinity(pid_t pid, bool zero, bool one)
{
	cpu_set_t set;

	return !sched_getaffinity(pid, sizeof(set), &set) && !CPU_ISSET(0, &set) == !zero &&
		!CPU_ISSET(1, &set) == !one;
}

static void attach(void)
{
	char number[16];
	char *attach_argv[] = { isolator, "attach", number, "-c", "1", "--json", NULL };
	char *detach_argv[] = { isolator, "detach", number, "--json", NULL };
	char *plain_argv[] = { plain, FLAG, NULL };
	pid_t pid;

	flag[0] = flag[1] = 0;
	pid = start(LOG, plain_argv);
	snprintf(number, sizeof(number), "%d", (int)pid);
	ok(spins(), "a program that runs already");
	ok(!command(attach_argv), "attach");
	ok(isolated() && affinity(pid, false, true), "it is isolated, and pinned");
	ok(command(attach_argv) == 1, "a second attach is an error");
	ok(isolated(), "that leaves it isolated");
	ok(!command(detach_argv), "detach");
	compare(JSON);
	ok(affinity(pid, true, true), "it has its CPUs again");
	ok(!kill(pid, 0) && waitpid(pid, NULL, WNOHANG) == 0, "and goes on");
	restored();
	ok(command(detach_argv) == 1, "a second detach is an error");
	flag[0] = 5;
	ok(end(pid) == 5, "it ends as it would");
}

/* One that ends while it is attached leaves its settings to restore. */
static void attached_ends(void)
{
	char number[16];
	char *attach_argv[] = { isolator, "attach", number, "-c", "1", NULL };
	char *restore_argv[] = { isolator, "restore", NULL };
	char *plain_argv[] = { plain, FLAG, NULL };
	pid_t pid;

	flag[0] = flag[1] = 0;
	pid = start(LOG, plain_argv);
	snprintf(number, sizeof(number), "%d", (int)pid);
	ok(spins() && !command(attach_argv) && isolated(), "another one is attached");
	ok(!command(restore_argv) && isolated(), "restore leaves it alone");
	flag[0] = 6;
	ok(end(pid) == 6, "it ends");
	ok(!command(restore_argv), "restore");
	restored();
}

/* A task that sleeps cannot be isolated before it runs. */
static void attach_sleeper(void)
{
	char number[16];
	char *argv[] = { isolator, "attach", number, "-c", "1", "--wait", "0.5", NULL };
	pid_t pid = fork();

	if (!pid) {
		pause();
		_exit(0);
	}
	snprintf(number, sizeof(number), "%d", (int)pid);
	ok(command(argv) == 1 && strstr(text_of(JSON), "sleeps in the kernel"),
	   "one that sleeps is not attached in vain");
	ok(affinity(pid, true, false), "and keeps its CPUs");
	kill(pid, SIGKILL);
	end(pid);
	restored();
}

int main(void)
{
	const char *lab = getenv("LAB") ? getenv("LAB") : "/lab";
	int fd;

	iso_require(2);
	if (put_file(CPUS, "\n"))
		bail_out(CPUS);
	snprintf(isolator, sizeof(isolator), "%s/bin/isolator", lab);
	snprintf(plain, sizeof(plain), "%s/bin/plain", lab);
	fd = open(FLAG, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || ftruncate(fd, 4096))
		bail_out(FLAG);
	flag = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (flag == MAP_FAILED)
		bail_out("mmap");
	run(NULL, false);
	run(NULL, true);
	run("50", false);
	attach();
	attached_ends();
	attach_sleeper();
	return done_testing();
}
