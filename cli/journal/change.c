// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/text.h"
#include "journal/change.h"

static const char *const kinds[] = {
	[SETTING_TEXT] = "text",
	[SETTING_CHOICE] = "choice",
	[SETTING_LIST] = "list",
	[SETTING_MASK] = "mask",
	[SETTING_WORD] = "word",
	[SETTING_SWITCH] = "switch",
	[SETTING_ADDED] = "added",
};

char *change_field(enum setting_kind kind, const char *wanted)
{
	return text_format("%s %s", kinds[kind], wanted);
}

const char *change_set(const char *field, enum setting_kind *kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		size_t length = strlen(kinds[i]);

		*kind = (enum setting_kind)i;
		if (!strncmp(field, kinds[i], length) && field[length] == ' ')
			return field + length + 1;
	}
	return NULL;
}

const char *change_hint(const char *path, int error)
{
	if (error_locked_down(path, error))
		return ": " ERROR_LOCKED_DOWN;
	if (error == EACCES || error == EPERM)
		return geteuid() ? ": run it as root" :
			": a container or a security module keeps root from it";
	if (error == EROFS)
		return ": it is read-only here, as in a container: run this on the host";
	if (error == ELOOP)
		return ": it is a link, which this command does not replace: put a file in its place, or change the file that it points to";
	if (error == EIO && !strncmp(path, "/proc/irq/", 10))
		return ": its driver manages it; boot with isolcpus=managed_irq and these CPUs";
	/* A cpuset partition makes it forget what its fair servers have (Linux 6.12). */
	if (error == EBUSY && strstr(path, "/fair_server/"))
		return ": the kernel miscounts real-time shares after a cpuset partition; with -1 in /proc/sys/kernel/sched_rt_runtime_us it accepts any";
	return "";
}

static void refuse(struct change *change, int error)
{
	free(change->now);
	change->outcome = OUTCOME_REFUSED;
	change->now = text_format("%s%s", strerror(error), change_hint(change->path, error));
}

/* Notes that the file gets @value; 0, or -1, said why. */
static int note(const struct change *change, struct journal *journal, const char *value)
{
	char *field;
	int error;

	if (change->what)
		return journal_note(journal, change->what, change->path, value, change->base);
	field = change_field(change->kind, value);
	error = journal_note(journal, JOURNAL_CHANGE, change->path, field, change->before);
	free(field);
	return error;
}

/* Does a file of this kind show one value, and no others beside it? */
static bool is_value(enum setting_kind kind)
{
	return kind != SETTING_WORD && kind != SETTING_SWITCH;
}

int change_apply(struct change *change, struct journal *journal)
{
	char *old;
	int error;

	change->before = setting_read(journal->root, change->path);
	if (!change->before) {
		refuse(change, errno);
		return 0;
	}
	error = note(change, journal, change->wanted);
	if (error)
		return error;
	error = setting_write(journal->root, change->path, change->wanted);
	change->now = setting_read(journal->root, change->path);
	if (error || !change->now)
		refuse(change, error ? error : errno);
	else if (setting_holds(change->kind, change->now, change->wanted))
		change->outcome = OUTCOME_FIXED;
	else
		change->outcome = OUTCOME_IGNORED;
	old = setting_read(journal->root, change->path);
	error = 0;
	if (old && !strcmp(old, change->before)) {
		journal_forget(journal);
	} else if (old && change->outcome != OUTCOME_FIXED && is_value(change->kind)) {
		/* That is what was set, and is to be put back. */
		char *value = setting_value(change->kind, old);

		error = note(change, journal, value);
		free(value);
	}
	free(old);
	return error;
}

void change_free(struct change *change)
{
	free(change->before);
	free(change->now);
	change->before = change->now = NULL;
}
