// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes what is for the next boot, and looks whether the boot loader has it. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit/boot.h"
#include "audit/boot_notes.h"
#include "base/error.h"
#include "base/root.h"
#include "base/setting.h"
#include "base/text.h"
#include "journal/change.h"
#include "journal/line.h"
#include "journal/store.h"

#define UPDATE_GRUB "/usr/sbin/update-grub"
#define GRUB_CONFIG "/boot/grub/grub.cfg"
#define NO_PROGRAM 127

/* What is to be run for @root; NULL: nothing is. */
static const char *program(const char *root, const char *update)
{
	return update ? update : root_live(root) ? UPDATE_GRUB : NULL;
}

bool boot_can_update(const char *root, const char *update)
{
	const char *name = program(root, update);

	return !name || !access(name, X_OK);
}

char *boot_update(const char *root, const char *update)
{
	const char *name = program(root, update);
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

static void refuse(struct boot *boot, const char *path, int error)
{
	boot->state = BOOT_REFUSED;
	boot->why = text_format("%s: %s%s", path, strerror(error), change_hint(path, error));
}

/* The directory that the file is in, to be freed. */
static char *directory_of(const struct boot *boot)
{
	return text_format("%.*s", (int)(strrchr(boot->path, '/') - boot->path), boot->path);
}

/* As it was before; what was noted is forgotten if it is so again. */
static void take_back(struct boot *boot, const char *root, const char *notes, bool made)
{
	char *directory = directory_of(boot);
	int error = boot->before ? boot_replace(root, boot->path, boot->before) :
		boot_remove(root, boot->path, false);

	if (!error && made)
		error = boot_remove(root, directory, true);
	/* A file that cannot be reached was not written either. */
	if (!error || error == EROFS || error == EACCES || error == ELOOP)
		boot_notes_write(root, notes);
	free(directory);
}

/* Notes it, and writes it: 0; -1, said why; 1, refused. */
static int write_file(struct boot *boot, const char *root, bool *made)
{
	char *directory = directory_of(boot), *now;
	int fd = root_open(root, directory, O_PATH | O_DIRECTORY), error = 0;

	/* Nothing is written by halves: the way there is made first, and noted. */
	if (fd < 0 && errno == ENOENT) {
		error = boot_note(root, BOOT_DIRECTORY, directory, "-", "-");
		if (!error && (error = boot_make_directory(root, directory))) {
			refuse(boot, directory, error);
			free(directory);
			return 1;
		}
		*made = !error;
	} else if (fd >= 0) {
		close(fd);
	}
	free(directory);
	if (!error)
		error = boot_note(root, boot->before ? BOOT_CHANGED : BOOT_MADE, boot->path,
				  boot->after, boot->before ? boot->before : "-");
	if (error) {
		error_say("%s%s: %s, and without it nothing is changed%s", root_live(root) ? "" : root,
			  BOOT_NOTES, strerror(error), change_hint(BOOT_NOTES, error));
		return -1;
	}
	error = boot_replace(root, boot->path, boot->after);
	if (error) {
		refuse(boot, boot->path, error);
		return 1;
	}
	now = setting_read(root, boot->path);
	if (!now || strcmp(now, boot->after)) {
		boot->state = BOOT_REFUSED;
		boot->why = text_format("%s: it was written, but another text was read back",
					boot->path);
	}
	free(now);
	return boot->state == BOOT_REFUSED;
}

/* update-grub, and whether it has come to where it counts: true. */
static bool update(struct boot *boot, const char *root, const char *update_grub)
{
	char *why = boot_update(root, update_grub);
	const char *lacks = why ? NULL : lacking(boot, root);

	if (lacks)
		why = text_format("update-grub was run, but no line of " GRUB_CONFIG " has %s: does a later file in /etc/default/grub.d set GRUB_CMDLINE_LINUX anew?",
				  lacks);
	if (!why)
		return true;
	boot->state = BOOT_REFUSED;
	boot->why = why;
	return false;
}

static int apply(struct boot *boot, const char *root, const char *update_grub)
{
	char *notes = boot_notes_read(root);
	bool stood = boot->state == BOOT_STANDS, made = false;
	int error = 0;

	if (!notes && errno != ENOENT) {
		error_say("%s: %s", BOOT_NOTES, errno == EBADMSG ?
			  "it is damaged, or of another version of this command: move it away" :
			  strerror(errno));
		return -1;
	}
	if (!notes)
		notes = text_format(JOURNAL_FIRST_LINE);
	if (!stood)
		error = write_file(boot, root, &made);
	/* Also where it stood: a crash may have come between the file and this. */
	if (!error && boot->grub && !update(boot, root, update_grub))
		error = 1;
	if (error && !stood) {
		take_back(boot, root, notes, made);
		/* As GRUB had it before, as far as it can be had. */
		if (error > 0 && boot->grub)
			free(boot_update(root, update_grub));
	} else if (!error && !stood) {
		boot->state = BOOT_WRITTEN;
	}
	free(notes);
	return error < 0 ? -1 : 0;
}

int boot_apply(struct boot *boot, struct audit *audit, enum audit_severity least,
	       const char *update_grub)
{
	const char *root = audit->capture->root;
	int directory, error = 0;

	if (!boot->count)
		return 0;
	if (!boot->why && boot->grub && !boot_can_update(root, update_grub))
		boot->why = text_format("there is no %s: apt install grub2-common, or if GRUB is not what boots this machine, add it where that has its parameters",
					update_grub ? update_grub : UPDATE_GRUB);
	if (boot->why) {
		boot->state = BOOT_REFUSED;
	} else {
		directory = store_lock(root, true, false);
		if (directory < 0)
			return -1;
		error = apply(boot, root, update_grub);
		store_close(root, directory);
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
