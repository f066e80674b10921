// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The stressors of stress-ng: one, or all of a class one after another, for a second each, on
 * each CPU its own.  What it calls bogo operations is counted.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "interfere/work.h"
#include "machine/filter.h"

#define PROGRAM "stress-ng"
#define SKIPPED_FIRST 2		/* its exit codes: failed, no resource, not implemented, ... */
#define SKIPPED_LAST 7

static char *ask(const char *option, const char *word)
{
	const char *const arguments[] = { PROGRAM, option, word, NULL };
	size_t size;

	return filter(arguments, -1, &size);
}

/* The stressors that @name is: those of a class, or that one; NULL with errno.  To be freed. */
static char *stressors(const char *name)
{
	static const char behind[] = "stressors: ";
	char *question = text_format("%s?", name), *said = ask("--class", question), *names = NULL;
	const char *at = said ? strstr(said, behind) : NULL;

	free(question);
	if (at)
		names = text_format("%s", at + strlen(behind));
	free(said);
	if (names)
		return names;
	said = ask("--stressors", NULL);
	if (said && text_has_word(said, name))
		names = text_format("%s", name);
	else if (said)
		errno = EINVAL;
	free(said);
	return names;
}

/* Its status, or 128 and the number of a signal; the first line that it says is in @said. */
static int run_program(struct work *work, const char *const *arguments, char said[WORK_TEXT])
{
	int text = memfd_create("said", MFD_CLOEXEC), status;
	pid_t parent = getpid(), child = text < 0 ? -1 : fork();
	ssize_t got;

	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() == parent && dup2(text, STDERR_FILENO) >= 0)
			execvp(arguments[0], (char *const *)(uintptr_t)arguments);
		_exit(127);
	}
	while (child > 0 && waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			child = -1;
	if (child < 0)
		work_fail(work, "%s cannot begin: %s", arguments[0], strerror(errno));
	got = pread(text, said, WORK_TEXT - 1, 0);
	said[got > 0 ? got : 0] = '\0';
	said[strcspn(said, "\n")] = '\0';
	close(text);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static char *missing(const char *variant)
{
	char *names = NULL, *why = NULL;

	if (!*variant)
		return text_format("which?  stress:sock, or a class as stress:network: stress-ng --stressors");
	/* It would take another word for an option of its own. */
	errno = EINVAL;
	if (!variant[strspn(variant, "abcdefghijklmnopqrstuvwxyz0123456789-")] && *variant != '-')
		names = stressors(variant);
	if (!names && errno == ENOENT)
		why = text_format("stress-ng is not installed: apt install stress-ng");
	else if (!names)
		why = text_format("stress-ng has no class or stressor \"%s\": stress-ng --class '?' and stress-ng --stressors show what it has",
				  variant);
	free(names);
	return why;
}

static int settle(struct work *work)
{
	work->words = text_format("stress-ng's %s, a second for each stressor", work->variant);
	return 0;
}

/* The sum of what it has written of its operations. */
static uint64_t operations(const char *yaml)
{
	static const char name[] = "bogo-ops: ";
	size_t size;
	char *text = file_read(yaml, &size);
	uint64_t sum = 0;

	for (const char *at = text; at && (at = strstr(at, name)); at += sizeof(name) - 1)
		sum += strtoull(at + sizeof(name) - 1, NULL, 10);
	free(text);
	return sum;
}

static void stress(struct work *work, const char *name, const char *cpu, const char *yaml)
{
	char *option = text_format("--%s", name), said[WORK_TEXT];
	int status;

	remove(yaml);
	status = run_program(work, (const char *const []){ PROGRAM, option, "1", "--timeout", "1",
		"--taskset", cpu, "--temp-path", work->scratch, "--metrics-brief", "--yaml", yaml,
		"--no-rand-seed", NULL }, said);
	free(option);
	/* What this machine, or this user, cannot run is left out. */
	if (status && (status < SKIPPED_FIRST || status > SKIPPED_LAST))
		work_fail(work, "stress-ng --%s ended with %d: %.160s", name, status, said);
	work_did(work->slot, operations(yaml));
}

static void run(struct work *work) __attribute__((noreturn));

static void run(struct work *work)
{
	char *names = stressors(work->variant);
	char *cpu = text_format("%d", work->slot->cpu);
	char *yaml = text_format("%s/cpu%s.yaml", work->scratch, cpu);

	if (!names)
		work_fail(work, "stress-ng has no \"%s\" any more", work->variant);
	work_ready(work);
	for (;;) {
		uint64_t before = work->slot->operations;

		for (char *at = names; *at;) {
			size_t length = strcspn(at, " \n");
			char *name = text_format("%.*s", (int)length, at);

			stress(work, name, cpu, yaml);
			free(name);
			at += length;
			at += strspn(at, " \n");
		}
		if (work->slot->operations == before)
			work_fail(work, "none of stress-ng's %s runs here, for this user",
				  work->variant);
	}
}

const struct work_type work_stress = {
	.type = {
		.name = "stress",
		.variants = "CLASS|STRESSOR",
		.about = "stress-ng: one of its stressors, or those of a class one after another",
		.operation = "bogo operations",
	},
	.files = true,
	.judges = true,
	.missing = missing,
	.settle = settle,
	.run = run,
};
