// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: scope-poll
 * cpus: 2
 * kernel: any
 * doorbell: yes
 * timeout: 60
 * about: scope-task --poll whose line is taken, given back elsewhere, and whose device goes
 */
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../../scope/include/scope_lines.h"
#include "tap.h"

#define DRIVER "/sys/bus/pci/drivers/isolator_scope"
#define LINE "/sys/class/misc/isolator_scope/lines/poll"
#define OTHER 20
#define EARLIER 7	/* answers that another one gave on that line */

static struct scope_lines *lines;

/* This test is its own generator: nothing but this word is looked at. */
static __u32 trigger(void)
{
	return __atomic_add_fetch(&lines->trigger, 1, __ATOMIC_RELEASE);
}

static __u32 head(unsigned int line)
{
	return __atomic_load_n(&lines->line[line].head, __ATOMIC_ACQUIRE);
}

static void wait_ms(long ms)
{
	const struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&time, NULL);	/* sleep: between two looks */
}

static bool comes_to(unsigned int line, __u32 count)
{
	for (int i = 0; i < 500 && head(line) != count; i++)
		wait_ms(10);
	return head(line) == count;
}

static bool is_last(unsigned int line, __u32 sequence)
{
	return lines->line[line].ring[(head(line) - 1) % SCOPE_LINES_RING] == sequence;
}

/* Until the last that is answered there is this one. */
static bool comes_to_last(unsigned int line, __u32 sequence)
{
	for (int i = 0; i < 500 && !is_last(line, sequence); i++)
		wait_ms(10);
	return is_last(line, sequence);
}

static void tell(const char *path, const char *text)
{
	int file = open(path, O_WRONLY | O_CLOEXEC);

	if (file < 0 || write(file, text, strlen(text)) != (ssize_t)strlen(text))
		bail_out(path);
	close(file);
}

static unsigned int line_of_poll(void)
{
	FILE *file = fopen(LINE, "re");
	unsigned int line = SCOPE_LINES_MAX;

	if (!file || fscanf(file, "%u", &line) != 1 || line >= SCOPE_LINES_MAX)
		bail_out("poll has no line");
	fclose(file);
	return line;
}

/* The memory, by the device itself; its name in @name. */
static void map_lines(char *name, size_t size)
{
	glob_t found;
	int file;

	if (glob(DRIVER "/*:*/resource2", 0, NULL, &found) || found.gl_pathc != 1)
		bail_out("no device of the driver");
	snprintf(name, size, "%.12s", found.gl_pathv[0] + strlen(DRIVER) + 1);
	file = open(found.gl_pathv[0], O_RDWR | O_CLOEXEC);
	lines = mmap(NULL, sizeof(*lines), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (lines == MAP_FAILED || lines->magic != SCOPE_LINES_MAGIC)
		bail_out("no lines");
	close(file);
}

static pid_t begin(void)
{
	pid_t task = fork();

	if (task)
		return task;
	execl("/lab/bin/scope-task", "scope-task", "--poll", "--cpu", "1", NULL);
	_exit(127);
}

int main(void)
{
	unsigned int own;
	char name[16];
	int status;
	__u32 last = 0, before, unanswered;
	pid_t task;

	if (system("modprobe isolator_scope"))
		bail_out("no module isolator_scope");
	map_lines(name, sizeof(name));
	own = line_of_poll();
	before = head(own);
	task = begin();
	for (int i = 0; i < 500 && head(own) == before; i++) {
		last = trigger();
		wait_ms(20);
	}
	/* It may have stood still since an earlier one, and answers the last one, too. */
	if (!comes_to_last(own, last))
		bail_out("no answer");
	before = head(own);
	last = trigger();
	ok(comes_to(own, before + 1) && is_last(own, last), "it answers on line %u", own);

	tell(LINE, "-1");
	for (int i = 0; i < 3; i++) {
		unanswered = trigger();
		wait_ms(50);
	}
	ok(!waitpid(task, &status, WNOHANG), "its line is taken: it lives");
	ok(head(own) == before + 1, "and answers nothing");

	lines->line[OTHER].head = EARLIER;
	tell(LINE, "20");
	last = trigger();
	/* If it has stood still until now, it had not looked at the one before. */
	ok(comes_to_last(OTHER, last) &&
	   (head(OTHER) == EARLIER + 1 ||
	    (head(OTHER) == EARLIER + 2 && lines->line[OTHER].ring[EARLIER] == unanswered)),
	   "it answers on the line that it gets, behind what is there");
	ok(head(own) == before + 1, "and on no other");

	tell(DRIVER "/unbind", name);
	for (int i = 0; i < 500 && !waitpid(task, &status, WNOHANG); i++)
		wait_ms(10);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 1,
	   "the device is gone: it ends, and says so");
	kill(task, SIGKILL);
	ok(!system("modprobe -r isolator_scope"), "it can be unloaded");
	return done_testing();
}
