// SPDX-License-Identifier: GPL-2.0-or-later
/* Applies what can be applied at run time, and looks whether it holds. */
#include <stdlib.h>

#include "audit/audit.h"

int audit_fix(struct audit *audit, enum audit_severity least)
{
	struct journal journal;
	bool opened = false;
	int error = 0;

	for (size_t i = 0; i < audit->count && !error; i++) {
		struct audit_finding *finding = &audit->findings[i];
		struct change change = {
			.path = finding->path,
			.kind = finding->kind,
			.wanted = finding->wanted,
		};

		if (finding->remedy != REMEDY_WRITE || finding->severity < least)
			continue;
		if (!opened && journal_open(&journal, audit->capture->root, NULL))
			return -1;
		opened = true;
		error = change_apply(&change, &journal);
		finding->outcome = change.outcome;
		finding->now = change.now;
		free(change.before);
	}
	if (opened)
		journal_close(&journal);
	return error;
}
