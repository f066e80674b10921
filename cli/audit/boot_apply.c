// SPDX-License-Identifier: GPL-2.0-or-later
/* Gives GRUB a file of parameters, or takes it away again. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit/boot.h"
#include "base/error.h"
#include "base/root.h"
#include "base/setting.h"
#include "base/text.h"
#include "journal/change.h"
#include "journal/journal.h"
#include "journal/line.h"

#define UPDATE_GRUB "/usr/sbin/update-grub"
#define GRUB_CONFIG "/boot/grub/grub.cfg"
#define BESIDE BOOT_FILE ".new"	/* GRUB reads *.cfg */
#define NONE "-"		/* the text of a file that is not there */
#define NO_PROGRAM 127

const char *boot_updater;

/* What is to be run for @root; NULL: nothing is. */
static const char *updater(const char *root)
{
	return boot_updater ? boot_updater : root_live(root) ? UPDATE_GRUB : NULL;
}

/* Is there none, where one is to be run? */
static bool lacks_updater(const char *root)
{
	const char *name = updater(root);

	return name && access(name, X_OK);
}

/* Why it failed, to be freed; NULL: it did not, or nothing is to be run. */
static char *update(const char *root)
{
	const char *name = updater(root);
	pid_t child;
	int status;

	if (!name)
		return NULL;
	child = fork();
	if (!child) {
		/* What it says of its progress is for nobody here; its errors are shown. */
		int null = open("/dev/null", O_RDWR);

		if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
			_exit(NO_PROGRAM);
		setenv("PATH", "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin", 1);
		execl(name, name, (char *)NULL);
		_exit(NO_PROGRAM);
	}
	if (child < 0)
		return text_format("%s: %s", name, strerror(errno));
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return text_format("%s: %s", name, strerror(errno));
	if (!status)
		return NULL;
	if (WIFSIGNALED(status))
		return text_format("%s was killed by signal %d", name, WTERMSIG(status));
	return text_format("%s failed with %d", name, WEXITSTATUS(status));
}

/* Which parameter GRUB's own configuration lacks in a line that boots; NULL: none. */
static const char *lacking(const struct boot *boot, const char *root)
{
	char *config = setting_read(root, GRUB_CONFIG);
	const char *lacks = NULL;

	for (size_t i = 0; config && i < boot->count && !lacks; i++) {
		bool found = false;

		for (char *at = config; !found && (at = strstr(at, "linux")); at++) {
			char *line = text_format("%.*s", (int)strcspn(at, "\n"), at);

			found = text_has_word(line, boot->parameters[i]);
			free(line);
		}
		if (!found)
			lacks = boot->parameters[i];
	}
	free(config);
	return lacks;
}

/* @text is NULL for no file.  0 or the errno. */
static int put(const char *root, const char *text)
{
	return text ? root_replace(root, BOOT_FILE, BESIDE, 0644, text) :
		root_remove(root, BOOT_FILE, BESIDE);
}

/* Says why in the plan.  Returns false. */
static bool refuse(struct boot *boot, char *why)
{
	boot->state = BOOT_REFUSED;
	boot->why = why;
	return false;
}

/* Has the file this text, or is it not there if that is NULL? */
static bool shows(const char *root, const char *text)
{
	char *now = setting_read(root, BOOT_FILE);
	bool same = now ? text && !strcmp(now, text) : !text && errno == ENOENT;

	free(now);
	return same;
}

/* 0 or the errno; nothing is written then. */
static int write_file(struct boot *boot, const char *root)
{
	int error = put(root, boot->after);

	if (error == ENOENT)
		refuse(boot, text_format(BOOT_FILE ": the directory does not exist, so this GRUB reads no files there: add the parameters to GRUB_CMDLINE_LINUX in /etc/default/grub, then run update-grub"));
	else if (error)
		refuse(boot, text_format(BOOT_FILE ": %s%s", strerror(error),
					 change_hint(BOOT_FILE, error)));
	return error;
}

/* Runs update-grub; has the parameters come to where they count? */
static bool update_config(struct boot *boot, const char *root)
{
	char *why = update(root);
	const char *lacks = why ? NULL : lacking(boot, root);

	if (lacks)
		why = text_format("update-grub ran, but no line of " GRUB_CONFIG " has %s: does a later file in /etc/default/grub.d replace GRUB_CMDLINE_LINUX?",
				  lacks);
	return !why || refuse(boot, why);
}

/* Does GRUB's configuration show @before, or is it not there if that is NULL? */
static bool config_is(const char *root, const char *before)
{
	char *now = setting_read(root, GRUB_CONFIG);
	bool same = now ? before && !strcmp(now, before) : !before;

	free(now);
	return same;
}

/*
 * As it was before, of which GRUB's configuration was @config, as far as it can be had.  What
 * that may still have stays noted until it is gone: update-grub may fail, and Ctrl-C ends both.
 */
static void take_back(struct boot *boot, const char *root, struct journal *journal,
		      const char *config)
{
	int error = put(root, boot->before);
	char *why = error ? text_format(BOOT_FILE ": %s", strerror(error)) : update(root), *both;

	if (!why || (!error && config_is(root, config))) {
		journal_forget(journal);
	} else {
		both = text_format("%s; it could not be undone either (%s), so the next boot may have some of the parameters: see what keeps update-grub from running, then run isolator restore",
				   boot->why, why);
		free(boot->why);
		boot->why = both;
	}
	free(why);
}

/* 0; -1, said why: it cannot be noted. */
static int apply(struct boot *boot, const char *root, struct journal *journal)
{
	char *config;

	if (boot->state == BOOT_STANDS) {
		/* A kill may have come between the file and this. */
		update_config(boot, root);
		return 0;
	}
	/* It was read when the machine was looked at: somebody may have made one since. */
	if (!shows(root, boot->before)) {
		refuse(boot, text_format(BOOT_FILE ": somebody changed it after this command read it: run the command again"));
		return 0;
	}
	if (journal_note(journal, BOOT_GRUB, BOOT_FILE, boot->after,
			 boot->before ? boot->before : NONE))
		return -1;
	config = setting_read(root, GRUB_CONFIG);
	if (write_file(boot, root)) {
		journal_forget(journal);
	} else if ((shows(root, boot->after) ||
		    refuse(boot, text_format(BOOT_FILE ": it was written, but reads back differently"))) &&
		   update_config(boot, root)) {
		boot->state = BOOT_WRITTEN;
	} else {
		take_back(boot, root, journal, config);
	}
	free(config);
	return 0;
}

int boot_apply(struct boot *boot, struct audit *audit, enum audit_severity least)
{
	const char *root = audit->capture->root;
	struct journal journal;
	int error = 0;

	if (!boot->count)
		return 0;
	if (!boot->why && lacks_updater(root))
		boot->why = text_format("there is no %s: apt install grub2-common; or if another boot loader boots this machine, add the parameters to its configuration",
					updater(root));
	if (boot->why) {
		boot->state = BOOT_REFUSED;
	} else {
		if (journal_open_boot(&journal, root))
			return -1;
		error = apply(boot, root, &journal);
		journal_close(&journal);
	}
	for (size_t i = 0; i < audit->count && !error; i++) {
		struct audit_finding *finding = &audit->findings[i];

		if (!finding->parameter || finding->severity < least)
			continue;
		finding->outcome = boot->state == BOOT_REFUSED ? OUTCOME_REFUSED :
			OUTCOME_PENDING;
		finding->now = text_format("%s", boot->state == BOOT_REFUSED ? boot->why :
					   finding->parameter);
	}
	return error;
}

/* Says so, and keeps it noted.  Returns false. */
static bool fail(struct undo_context *context, const char *path, const char *should,
		 const char *why)
{
	error_say("%s: %s", path, why);
	return undo_fail(context, path, should, why);
}

bool boot_undo(struct undo_context *context, char **fields)
{
	const char *root = context->root, *new = fields[JOURNAL_VALUE];
	const char *old = strcmp(fields[JOURNAL_TEXT], NONE) ? fields[JOURNAL_TEXT] : NULL;
	const char *should = old ? old : "no such file";
	char *now, *why;
	int error;
	bool good;

	if (strcmp(fields[JOURNAL_NAME], BOOT_FILE))
		return undo_damaged_line(context);
	now = setting_read(root, BOOT_FILE);
	error = now || errno == ENOENT ? 0 : errno;
	/* Gone or as it was: a kill came before the file was written, or update-grub failed. */
	if (!error && now && strcmp(now, new) && (!old || strcmp(now, old))) {
		free(now);
		return fail(context, BOOT_FILE, should,
			    "somebody changed it after isolator audit --fix --boot wrote it: remove it if nobody needs it, then run isolator restore again");
	}
	if (!error)
		error = put(root, now ? old : NULL);
	free(now);
	if (error) {
		why = text_format("%s%s", strerror(error), change_hint(BOOT_FILE, error));
		good = fail(context, BOOT_FILE, should, why);
	} else {
		why = lacks_updater(root) ?
			text_format("there is no update-grub: apt install grub2-common; until it runs, the next boot still has the parameters") :
			update(root);
		good = !why || fail(context, GRUB_CONFIG, "as update-grub writes it", why);
	}
	free(why);
	return good;
}
