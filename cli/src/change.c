// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "change.h"
#include "text.h"

const char *change_hint(const char *path, int error)
{
	if (error == EACCES || error == EPERM)
		return ": run it as root";
	if (error == EROFS)
		return ": it is read-only here, as in a container: do it on the host";
	if (error == EIO && !strncmp(path, "/proc/irq/", 10))
		return ": its driver manages it; boot with isolcpus=managed_irq and these CPUs";
	/* A cpuset partition makes it forget what its fair servers have (Linux 6.12). */
	if (error == EBUSY && strstr(path, "/fair_server/"))
		return ": the kernel has lost count of real-time shares; it takes any with -1 in /proc/sys/kernel/sched_rt_runtime_us";
	return "";
}

static void refuse(struct change *change, int error)
{
	free(change->now);
	change->outcome = OUTCOME_REFUSED;
	change->now = text_format("%s%s", strerror(error), change_hint(change->path, error));
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
	old = setting_value(change->kind, change->before);
	error = journal_note(journal, JOURNAL_SET, change->path, old, change->before);
	free(old);
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
	if (old && !strcmp(old, change->before))
		journal_forget(journal);
	free(old);
	return 0;
}

void change_free(struct change *change)
{
	free(change->before);
	free(change->now);
	change->before = change->now = NULL;
}
