// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "audit/audit.h"
#include "audit/irq.h"
#include "base/text.h"

/* Whose choice is it?  The kernel says it to root, and to others by the file's mode. */
static void look_whose(struct audit *audit, struct irq *irq)
{
	char *path = text_format("/sys/kernel/debug/irq/irqs/%s", irq->number);
	const struct capture_file *state = capture_read(audit->capture, path), *chip;

	free(path);
	if (!state->error) {
		irq->managed = strstr(state->value, "IRQD_AFFINITY_MANAGED");
		irq->bound = strstr(state->value, "IRQD_PER_CPU") ||
			strstr(state->value, "IRQD_NO_BALANCING");
		irq->told = true;
		return;
	}
	/* Since 6.12 an affinity that nobody can set is not writable. */
	irq->told = audit_kernel(audit, 6, 12);
	if (irq->file->mode & 0222)
		return;
	irq->told = true;
	chip = audit_file(audit, "/sys/kernel/irq/%s/chip_name", irq->number);
	irq->managed = chip && strstr(chip->value, "MSI");
	irq->bound = !irq->managed;
}

bool irq_look(struct audit *audit, const char *number, struct irq *irq)
{
	const struct capture_file *actions;

	*irq = (struct irq){ .number = number };
	if (!text_is_number(number))
		return false;
	actions = audit_file(audit, "/sys/kernel/irq/%s/actions", number);
	if (actions && !*actions->value)
		return false;
	irq->file = audit_list(audit, &irq->asked, "/proc/irq/%s/smp_affinity_list", number);
	if (!irq->file)
		return false;
	if (!audit_list(audit, &irq->goes, "/proc/irq/%s/effective_affinity_list", number) ||
	    cpulist_empty(&irq->goes))
		irq->goes = irq->asked;
	look_whose(audit, irq);
	return true;
}

enum irq_reach irq_reach(const struct irq *irq, const struct cpulist *cpus)
{
	bool goes = cpulist_common(&irq->goes, cpus);

	if (irq->managed)
		return goes ? IRQ_MANAGED : IRQ_ELSEWHERE;
	if (irq->bound)
		return goes ? IRQ_BOUND : IRQ_ELSEWHERE;
	if (cpulist_common(&irq->asked, cpus))
		return IRQ_ASKED;
	return goes ? IRQ_PENDING : IRQ_ELSEWHERE;
}
