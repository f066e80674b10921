// SPDX-License-Identifier: GPL-2.0-or-later
/* Where interrupts of devices go, and who sends them there. */
#include <stdlib.h>
#include <string.h>

#include "audit/audit.h"
#include "audit/irq.h"
#include "base/text.h"

#define NET "/sys/class/net"

static void judge(struct audit *audit, const struct irq *irq)
{
	struct audit_finding *finding;
	char *others;

	if (irq_reach(irq, &audit->cpus) != IRQ_ASKED)
		return;
	finding = audit_find(audit, irq->file->path, irq->file->value);
	/* Isolator leaves isolated CPUs out, but where nothing else is named. */
	if (audit->isolator && !cpulist_within(&irq->asked, &audit->cpus))
		finding->severity = AUDIT_INFO;
	others = audit_others(audit, &irq->asked, SETTING_LIST);
	if (others)
		audit_set(finding, SETTING_LIST, "%s", others);
	free(others);
}

/* It was sent elsewhere: that waits, where the interrupt comes from an I/O APIC. */
static void judge_pending(struct audit *audit, const struct irq *irq)
{
	char *path;

	if (irq_reach(irq, &audit->cpus) != IRQ_PENDING)
		return;
	path = text_format("/proc/irq/%s/effective_affinity_list", irq->number);
	audit_advise(audit_find(audit, path, capture_read(audit->capture, path)->value),
		     REMEDY_NONE, "none needed: the next interrupt moves it", "");
	free(path);
}

static void judge_managed(struct audit *audit, const struct irq *irq)
{
	struct audit_finding *finding;
	char *cpus;

	if (irq_reach(irq, &audit->cpus) != IRQ_MANAGED)
		return;
	finding = audit_find(audit, irq->file->path, irq->file->value);
	/* A queue of these CPUs alone is silent until one of them uses the device. */
	if (audit->isolator || cpulist_within(&irq->asked, &audit->cpus))
		finding->severity = AUDIT_INFO;
	cpus = cpulist_text(&audit->cpus);
	audit_boot_with(finding, "isolcpus=managed_irq,%s", cpus);
	free(cpus);
}

static void each(struct audit *audit, void (*judge_one)(struct audit *, const struct irq *))
{
	size_t count;
	char **numbers = audit_names(audit, &count, "/proc/irq");

	for (size_t i = 0; i < count; i++) {
		struct irq irq;

		if (irq_look(audit, numbers[i], &irq))
			judge_one(audit, &irq);
	}
	capture_names_free(numbers, count);
}

static void find_interrupts(struct audit *audit)
{
	each(audit, judge);
}

static void find_pending(struct audit *audit)
{
	each(audit, judge_pending);
}

static void find_managed(struct audit *audit)
{
	each(audit, judge_managed);
}

static void find_default(struct audit *audit)
{
	struct cpulist mask;
	const struct capture_file *file = audit_mask(audit, &mask,
						     "/proc/irq/default_smp_affinity");

	audit_spare(audit, file, &mask, SETTING_MASK, false);
}

static void find_steering(struct audit *audit)
{
	size_t devices, queues;
	char **names = audit_names(audit, &devices, NET);

	for (size_t i = 0; i < devices; i++) {
		char **each_queue = audit_names(audit, &queues, NET "/%s/queues", names[i]);

		for (size_t k = 0; k < queues; k++) {
			struct cpulist mask;
			const struct capture_file *file;

			if (strncmp(each_queue[k], "rx-", 3))
				continue;
			file = audit_mask(audit, &mask, NET "/%s/queues/%s/rps_cpus", names[i],
					  each_queue[k]);
			audit_spare(audit, file, &mask, SETTING_MASK, true);
		}
		capture_names_free(each_queue, queues);
	}
	capture_names_free(names, devices);
}

/* Takes what irqbalance leaves alone by its configuration out of @cpus. */
static void leave_banned(struct audit *audit, struct cpulist *cpus)
{
	static const char name[] = "IRQBALANCE_BANNED_CPULIST=";
	const struct capture_file *file = audit_file(audit, "/etc/default/irqbalance");
	const char *at = file ? strstr(file->value, name) : NULL;
	struct cpulist banned;
	char *text;

	if (!at || (at > file->value && at[-1] != '\n'))
		return;
	at += sizeof(name) - 1;
	at += *at == '"' || *at == '\'';
	text = text_format("%.*s", (int)strcspn(at, "\"' \t\n"), at);
	if (cpulist_read(text, &banned))
		cpulist_minus(cpus, &banned);
	free(text);
}

static void find_balancer(struct audit *audit)
{
	const struct capture_file *process = capture_process(audit->capture, "irqbalance");
	struct cpulist reached = audit->cpus, spared;

	if (!process)
		return;
	/* It spares those that were isolated at boot by itself. */
	if (audit_list(audit, &spared, "/sys/devices/system/cpu/isolated"))
		cpulist_minus(&reached, &spared);
	if (audit_list(audit, &spared, "/sys/devices/system/cpu/nohz_full"))
		cpulist_minus(&reached, &spared);
	leave_banned(audit, &reached);
	if (!cpulist_empty(&reached))
		audit_advise(audit_find(audit, process->path, process->value), REMEDY_COMMAND,
			     "systemctl disable --now irqbalance", "systemctl enable --now irqbalance");
}

static const struct audit_check checks[] = {
	{ "irq.affinity", AUDIT_WARNING, false,
	  "the interrupt of this device may reach a CPU to isolate", find_interrupts },
	{ "irq.pending", AUDIT_INFO, false,
	  "the interrupt of this device reaches the CPU once more before its new affinity applies",
	  find_pending },
	{ "irq.managed", AUDIT_WARNING, false,
	  "a driver directs the interrupt of this device queue to a CPU to isolate",
	  find_managed },
	{ "irq.default", AUDIT_WARNING, true,
	  "interrupts of devices that are added later may reach a CPU to isolate",
	  find_default },
	{ "irq.packets", AUDIT_WARNING, true,
	  "packets that this queue receives are passed to a CPU to isolate",
	  find_steering },
	{ "irq.irqbalance", AUDIT_WARNING, true,
	  "irqbalance may move interrupts to any CPU and override what was set by hand", find_balancer },
	{ 0 },
};

const struct audit_group audit_irq = { "Interrupts", checks };
