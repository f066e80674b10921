// SPDX-License-Identifier: GPL-2.0-or-later
/* Applies what can be applied at run time, and looks whether it holds. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "audit.h"
#include "journal.h"
#include "text.h"

/* Why a write failed, and what helps. */
static char *refusal(const struct audit_finding *finding, int error)
{
	const char *hint = "";

	if (error == EACCES || error == EPERM)
		hint = ": run it as root";
	else if (error == EROFS)
		hint = ": it is read-only here, as in a container: do it on the host";
	else if (error == EIO && !strncmp(finding->path, "/proc/irq/", 10))
		hint = ": its driver manages it; boot with isolcpus=managed_irq and these CPUs";
	return text_format("%s%s", strerror(error), hint);
}

/*
 * The new value is in force, or the old one, and then the journal does not name it.
 * -1, said why: the journal cannot be written, and nothing was changed.
 */
static int apply(struct audit_finding *finding, struct journal *journal)
{
	char *before = setting_read(journal->root, finding->path), *old;
	int error;

	if (!before) {
		finding->outcome = OUTCOME_REFUSED;
		finding->now = refusal(finding, errno);
		return 0;
	}
	old = setting_value(finding->kind, before);
	error = journal_note(journal, finding->path, old, before);
	free(old);
	if (error) {
		free(before);
		return error;
	}
	error = setting_write(journal->root, finding->path, finding->wanted);
	finding->now = setting_read(journal->root, finding->path);
	if (finding->now && !strcmp(finding->now, before))
		journal_forget(journal);
	free(before);
	if (error || !finding->now) {
		if (!error)
			error = errno;
		free(finding->now);
		finding->outcome = OUTCOME_REFUSED;
		finding->now = refusal(finding, error);
	} else if (setting_holds(finding->kind, finding->now, finding->wanted)) {
		finding->outcome = OUTCOME_FIXED;
	} else {
		finding->outcome = OUTCOME_IGNORED;
	}
	return 0;
}

int audit_fix(struct audit *audit, enum audit_severity least)
{
	struct journal journal;
	bool opened = false;
	int error = 0;

	for (size_t i = 0; i < audit->count && !error; i++) {
		struct audit_finding *finding = &audit->findings[i];

		if (finding->remedy != REMEDY_WRITE || finding->severity < least)
			continue;
		if (!opened && journal_open(&journal, audit->capture->root))
			return -1;
		opened = true;
		error = apply(finding, &journal);
	}
	if (opened)
		journal_close(&journal);
	return error;
}
