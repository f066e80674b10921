// SPDX-License-Identifier: GPL-2.0-or-later
/* isolator shield: masks of CPUs that processes, interrupts or local timers leave alone. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/root.h"
#include "base/setting.h"
#include "base/text.h"
#include "journal/store.h"
#include "machine/online.h"
#include "machine/tasks.h"
#include "options/command.h"
#include "shield/shield.h"

enum action { SET, SHOW, CLEAR, ACTIONS };

static struct {
	struct shield_masks masks;
	struct cpulist all;
	bool json;
	const char *root;
} options = {
	.root = "/",
};

static const struct option_spec specs[] = {
	OPTION_HELP_SPEC,
	{ "processes", 0, OPTION_CPUS, "CPUS", "move tasks that can run elsewhere away from these CPUs",
	  .to.cpus = &options.masks.of[SHIELD_PROCESSES], .kinds = 1 << SET },
	{ "processes", 0, OPTION_CPUS, "CPUS", "let tasks use these CPUs again",
	  .to.cpus = &options.masks.of[SHIELD_PROCESSES], .kinds = 1 << CLEAR },
	{ "interrupts", 0, OPTION_CPUS, "CPUS", "the same for device interrupts and forwarded packets",
	  .to.cpus = &options.masks.of[SHIELD_INTERRUPTS], .kinds = 1 << SET | 1 << CLEAR },
	{ "timers", 0, OPTION_CPUS, "CPUS", "the same for local timers that can be turned off",
	  .to.cpus = &options.masks.of[SHIELD_TIMERS], .kinds = 1 << SET | 1 << CLEAR },
	{ "all", 0, OPTION_CPUS, "CPUS", "the same for all three",
	  .to.cpus = &options.all, .kinds = 1 << SET | 1 << CLEAR },
	{ "json", 0, OPTION_FLAG, NULL, "print one JSON object (schema isolator.shield, version 1)",
	  .to.flag = &options.json },
	{ "root", 0, OPTION_FILE, "DIR", NULL, .to.text = &options.root },
	{ 0 },
};

static const struct command_kind kinds[] = {
	[SET] = {
		.name = "set",
		.summary = "shield CPUs, or apply the masks again",
		.about = "Sets the masks that are given to these CPUs, and moves away what is there now. Without a mask it applies the present masks again.",
		.examples = (const char *const []){
			"sudo isolator shield set --all 3", "shield CPU 3 from all three",
			"sudo isolator shield set --processes 2-3 --interrupts 3", "use a mask for each",
			NULL,
		},
	},
	[SHOW] = {
		.name = "show",
		.summary = "show what still reaches shielded CPUs",
		.about = "Shows the masks, and what still reaches shielded CPUs although the masks forbid it.",
		.examples = (const char *const []){
			"sudo isolator shield show", "show what still reaches shielded CPUs",
			NULL,
		},
	},
	[CLEAR] = {
		.name = "clear",
		.summary = "take CPUs out of masks, or undo everything",
		.about = "Takes these CPUs out of the masks. Without a mask it undoes everything, except what somebody has changed since.",
		.examples = (const char *const []){
			"sudo isolator shield clear --processes 2", "let all processes use CPU 2 again",
			"sudo isolator shield clear", "undo everything",
			NULL,
		},
	},
	{ 0 },
};

/* What is asked for; ACTIONS, said why: it cannot be done. */
static enum action check_options(const char *word)
{
	bool given = false;

	for (size_t i = 0; i < SHIELD_KINDS; i++)
		given |= options.masks.of[i].given;
	if (options.all.given && given) {
		error_say("--all sets all three masks: leave the others out, or name each");
		return ACTIONS;
	}
	for (size_t i = 0; options.all.given && i < SHIELD_KINDS; i++)
		options.masks.of[i] = options.all;
	return (enum action)(options_kind(&shield_command, word) - kinds);
}

static bool any_given(void)
{
	return options.masks.of[SHIELD_PROCESSES].given ||
		options.masks.of[SHIELD_INTERRUPTS].given || options.masks.of[SHIELD_TIMERS].given;
}

/* Are the CPUs of --@name there, and is another one left?  -1, said why. */
static int check_mask(const char *name, const struct cpulist *mask, const struct cpulist *online)
{
	struct cpulist left = *online;
	char *there;

	if (online_check(name, mask, online))
		return -1;
	cpulist_minus(&left, mask);
	if (!cpulist_empty(&left))
		return 0;
	there = cpulist_text(online);
	error_say("--%s: no CPU of %s is left for everything else: shield fewer", name, there);
	free(there);
	return -1;
}

/* The journal's masks with those that are asked for; -1, said why they cannot be. */
static int merge(struct shield_masks *masks, const struct shield_notes *notes, enum action action,
		 const struct cpulist *online)
{
	int error = 0;

	*masks = notes->masks;
	for (size_t i = 0; i < SHIELD_KINDS && !error; i++) {
		const struct cpulist *given = &options.masks.of[i];

		if (!given->given)
			continue;
		if (action == CLEAR)
			cpulist_minus(&masks->of[i], given);
		else
			masks->of[i] = *given;
		if (action == SET)
			error = check_mask(options.all.given ? "all" : shield_names[i], given, online);
	}
	return error;
}

/* Notes the masks, as they are from now on: 0, or -1, said why. */
static int note_masks(struct journal *journal, const struct shield_masks *masks)
{
	char *uptime = setting_read(journal->root, "/proc/uptime"), *text, *since;
	double seconds = uptime ? strtod(uptime, NULL) : 0;
	int error;

	/* Without it nothing began since. */
	since = seconds > 0 ? text_format("%llu", (unsigned long long)(seconds * 100)) :
		text_format("%llu", (unsigned long long)UINT64_MAX);
	text = shield_masks_text(masks);
	error = journal_note(journal, SHIELD_MASKS, since, text, "-");
	free(since);
	free(text);
	free(uptime);
	return error;
}

/* Nothing ends the command between two changes: signals wait until all are made. */
static void hold_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGQUIT);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

/* What is in force, by the journal: 0, or -1, said why it cannot be said. */
static int read_masks(struct shield_masks *masks)
{
	int directory = store_lock(options.root, STORE_PATH, false, true), fd = -1;
	struct shield_notes notes = { 0 };
	char *text = NULL;
	int error = 0;
	bool alive;

	if (directory == -1)
		return -1;
	if (directory >= 0) {
		fd = store_open(directory, STORE_SHIELD, &alive);
		text = fd < 0 ? NULL : journal_line_all(fd);
		if (!text && errno != ENOENT)
			error = store_fail(options.root, STORE_PATH, STORE_SHIELD, errno == EBADMSG ?
				"damaged, or written by another version of this command: move it away" :
				strerror(errno));
	}
	shield_notes_read(&notes, text ? text : "");
	*masks = notes.masks;
	shield_notes_free(&notes);
	if (directory >= 0)
		store_close(options.root, STORE_PATH, directory);
	if (fd >= 0)
		close(fd);
	free(text);
	return error;
}

/* Shows what is there now, and what was done; the exit code. */
static int report(const struct cpulist *online, const struct shield_done *done,
		  const struct undo *undo)
{
	struct shield_look look = { .online = *online };
	int code = EXIT_ERROR;

	if (!read_masks(&look.masks) && !shield_look(&look, options.root)) {
		code = shield_look_wrong(&look) || (done && done->nr_refused) ? EXIT_EXCEEDED :
			EXIT_PASS;
		if (options.json) {
			shield_json(stdout, &look, done, undo);
		} else {
			shield_text(stdout, &look, done, undo);
			journal_put_killed(stdout, options.root);
		}
	}
	shield_look_free(&look);
	return code;
}

/* What the journal notes, without what it notes for nothing: 0, or -1, said why. */
static int read_notes(struct journal *journal, struct shield_notes *notes)
{
	char *text = journal_line_all(journal->fd), *tidy;
	struct tasks tasks;
	size_t size;
	int error = 0;

	if (text && *text && !tasks_read(&tasks, options.root)) {
		tidy = shield_notes_tidy(text, &tasks, &size);
		if (size < strlen(text))
			error = journal_rewrite(journal, tidy, size);
		tasks_free(&tasks);
		free(text);
		text = tidy;
	}
	shield_notes_read(notes, text ? text : "");
	free(text);
	return error;
}

/* Sets other masks; the exit code. */
static int change(enum action action, const struct cpulist *online)
{
	struct shield_done done = { 0 };
	struct shield_notes notes;
	struct shield_masks masks;
	struct journal journal;
	int code = EXIT_ERROR;

	if (journal_open_shield(&journal, options.root))
		return EXIT_ERROR;
	if (read_notes(&journal, &notes))
		code = EXIT_ERROR;
	else if (action == SET && !any_given() && !notes.given)
		error_say("which CPUs? --all 3 shields CPU 3 from processes, interrupts and timers; see isolator shield --help");
	else if (!merge(&masks, &notes, action, online) && !note_masks(&journal, &masks))
		code = shield_apply(&journal, &notes, &masks, online, &done) ?
			error_say("only a part of the shield is set: isolator shield clear undoes it") :
			EXIT_PASS;
	shield_notes_free(&notes);
	journal_close(&journal);
	if (!code)
		code = report(online, &done, NULL);
	shield_done_free(&done);
	return code;
}

/* Puts all back; the exit code. */
static int clear_all(const struct cpulist *online)
{
	struct journal journal;
	struct undo undo;
	bool stays = false;
	int code;

	/* Runs are told of, and nothing is changed. */
	if (journal_open_shield(&journal, options.root))
		return EXIT_ERROR;
	journal_close(&journal);
	if (undo_journals(&undo, options.root, UNDO_SHIELD))
		return EXIT_ERROR;
	for (size_t i = 0; i < undo.count; i++)
		stays |= undo.journals[i].state == UNDO_STAYS;
	code = report(online, NULL, &undo);
	undo_free(&undo);
	return stays ? EXIT_ERROR : code;
}

static bool is_empty(const struct shield_masks *masks)
{
	struct cpulist any = shield_masks_any(masks);

	return cpulist_empty(&any);
}

/* Takes CPUs out of masks; without any left all is put back. */
static int clear(const struct cpulist *online)
{
	struct shield_notes notes = { 0 };
	struct shield_masks masks;

	if (read_masks(&notes.masks))
		return EXIT_ERROR;
	if (merge(&masks, &notes, CLEAR, online))
		return EXIT_ERROR;
	if (!any_given() || is_empty(&masks))
		return clear_all(online);
	return change(CLEAR, online);
}

static int run(int argc, char **argv)
{
	enum action action = check_options(argv[0]);
	struct cpulist online;

	(void)argc;
	if (action == ACTIONS)
		return EXIT_ERROR;
	if (action != SHOW && !root_trusted(options.root)) {
		root_refuse(options.root);
		return EXIT_ERROR;
	}
	if (online_read(options.root, &online))
		return EXIT_ERROR;
	if (action == SHOW)
		return report(&online, NULL, NULL);
	hold_signals();
	return action == SET ? change(SET, &online) : clear(&online);
}

const struct command shield_command = {
	.name = "shield",
	.operands = "set|show|clear",
	.words = "set show clear",
	.min_operands = 1,
	.max_operands = 1,
	.kinds = kinds,
	.summary = "keep processes, interrupts or local timers away from CPUs",
	.about = "Shields CPUs from processes, interrupts and local timers, with a mask for each. Tasks and interrupts that can run on other CPUs too are moved to those. A task or an interrupt that is allowed only on shielded CPUs (taskset, smp_affinity) stays there. Each change is noted in /run/isolator before it is made: isolator restore undoes it too.",
	.options = specs,
	.examples = (const char *const []){
		"sudo isolator shield set --all 3", "shield CPU 3 from all three",
		"sudo taskset -c 3 ./control", "run a program there",
		NULL,
	},
	.exits = (const char *const []){
		"0", "done, and everything that can run elsewhere leaves shielded CPUs alone",
		"1", "an error, or something could not be restored; the message says what to do",
		"2", "something still uses a shielded CPU, or a change was refused; it is named",
		NULL,
	},
	.run = run,
};
