// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The limits of a kernel with Isolator below another root, linked with --wrap=rules_set:
 * as the kernel does, one line written changes one line that is read.  $REFUSE names a
 * rule that the kernel refuses with EINVAL, $FORGET one that it takes and does not keep.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/setting.h"
#include "configure/rules.h"

int __wrap_rules_set(const struct rules *rules, enum rule rule, const char *root);
int __real_rules_set(const struct rules *rules, enum rule rule, const char *root);

static int is(const char *variable, enum rule rule)
{
	const char *name = getenv(variable);

	return name && !strcmp(name, rule_names[rule]);
}

int __wrap_rules_set(const struct rules *rules, enum rule rule, const char *root)
{
	char *before, *line, *rest, text[512] = "";
	int error;

	if (is("REFUSE", rule))
		return EINVAL;
	if (is("FORGET", rule))
		return 0;
	if (rule == RULE_CPUS)
		return __real_rules_set(rules, rule, root);
	before = rules_shown(root, "/proc/isolator/limits");
	error = __real_rules_set(rules, rule, root);
	line = error ? NULL : rules_shown(root, "/proc/isolator/limits");
	if (!before || !line)
		abort();
	for (char *next = before; (rest = strsep(&next, "\n"));) {
		size_t name = strcspn(line, " ") + 1;

		if (!*rest)
			continue;
		strcat(text, strncmp(rest, line, name) ? rest : line);
		strcat(text, "\n");
	}
	error = setting_write_text(root, "/proc/isolator/limits", text);
	free(line);
	free(before);
	return error;
}
