/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an administrator allows: as /etc/isolator.conf says it, and as the kernel has it. */
#ifndef RULES_H
#define RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cpulist.h"

#define RULES_FILE "/etc/isolator.conf"

/* What the kernel keeps; the order in which it is set: limits before CPUs are allowed. */
enum rule { RULE_DEADLINE, RULE_SPIN, RULE_PERF, RULE_MSR, RULE_CPUS, RULES };

extern const char *const rule_names[RULES];	/* as in the file */

struct rules {
	struct cpulist cpus;		/* given, may be empty */
	uint64_t deadline_ns, spin_ns;
	bool queue_perf, queue_msr;	/* else refused */
	unsigned int line[RULES];	/* of the file; 0: it does not say */
};

/* The kernel's own: no CPU, the widest limits. */
void rules_default(struct rules *rules);

/*
 * Fills @rules from the file @path below @root and checks it against the machine's CPUs.
 * 0, or -1: said of each line that is wrong what it may be.
 */
int rules_read(struct rules *rules, const char *root, const char *path);

/* What the file @path below @root shows, without blanks around it, to be freed; NULL with errno. */
char *rules_shown(const char *root, const char *path);

/* What the kernel below @root has.  0, or -1, said why. */
int rules_kernel(struct rules *rules, const char *root);

/* Gives the kernel one of them.  0, or the errno. */
int rules_set(const struct rules *rules, enum rule rule, const char *root);

bool rules_same(const struct rules *a, const struct rules *b, enum rule rule);

/* As the kernel writes it, "none" for no CPU; to be freed. */
char *rules_text(const struct rules *rules, enum rule rule);

#endif
