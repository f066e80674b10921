// SPDX-License-Identifier: GPL-2.0-or-later
/* What the machine is: virtual, with siblings, on battery, interrupted by firmware. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/audit.h"
#include "base/array.h"
#include "base/text.h"
#include "machine/machine.h"

#define CPU "/sys/devices/system/cpu"
#define SUPPLY "/sys/class/power_supply"

static void find_no_rest(struct audit *audit)
{
	struct audit_finding *finding;
	struct cpulist left = audit->cpus, first = { 0 };
	char *online, *cpus, *fix;

	if (!cpulist_empty(&audit->rest))
		return;
	online = cpulist_text(&audit->online);
	finding = audit_find(audit, CPU "/online", online);
	free(online);
	cpulist_add(&first, cpulist_next(&left, -1));
	cpulist_minus(&left, &first);
	if (cpulist_empty(&left)) {
		audit_advise(finding, REMEDY_NONE, "use a machine with two CPUs or more", "");
		return;
	}
	cpus = cpulist_text(&left);
	fix = text_format("leave one out: isolator audit --cpu %s", cpus);
	audit_advise(finding, REMEDY_NONE, fix, "");
	free(fix);
	free(cpus);
}

static void find_first(struct audit *audit)
{
	char *cpus;

	/* That there is no other is another finding. */
	if (!cpulist_has(&audit->cpus, 0) || cpulist_empty(&audit->rest))
		return;
	cpus = cpulist_text(&audit->online);
	audit_advise(audit_find(audit, CPU "/online", cpus), REMEDY_NONE, "isolate another CPU", "");
	free(cpus);
}

static void find_virtual(struct audit *audit)
{
	const struct capture_file *cpuinfo = audit_file(audit, "/proc/cpuinfo");
	const struct capture_file *type = audit_file(audit, "/sys/hypervisor/type");
	const struct capture_file *vendor = audit_file(audit, "/sys/class/dmi/id/sys_vendor");
	/* Without DMI, as on most arm64: of the device tree. */
	const struct capture_file *below = audit_file(audit, "/proc/device-tree/hypervisor/compatible");
	const struct capture_file *board = audit_file(audit, "/proc/device-tree/compatible");
	struct audit_finding *finding = NULL;

	if (audit_flag(audit, "hypervisor"))
		finding = audit_find(audit, cpuinfo->path, "hypervisor");
	else if (below)
		finding = audit_find(audit, below->path, below->value);
	else if (board && machine_is_virtual_board(board->value))
		finding = audit_find(audit, board->path, board->value);
	else if (type)
		finding = audit_find(audit, type->path, type->value);
	else if (vendor && machine_is_virtual_vendor(vendor->value))
		finding = audit_find(audit, vendor->path, vendor->value);
	if (finding)
		audit_advise(finding, REMEDY_NONE,
			     "on the host, pin each virtual CPU to a CPU of its own; or use a real machine",
			     "");
}

static void find_siblings(struct audit *audit)
{
	for (int cpu = -1; (cpu = cpulist_next(&audit->cpus, cpu)) >= 0;) {
		struct cpulist siblings, self = { 0 };

		if (!audit_list(audit, &siblings, CPU "/cpu%d/topology/thread_siblings_list", cpu))
			continue;
		cpulist_add(&self, cpu);
		cpulist_minus(&siblings, &self);
		for (int other = -1; (other = cpulist_next(&siblings, other)) >= 0;) {
			struct audit_finding *finding;
			char *path;

			if (!cpulist_has(&audit->online, other))
				continue;
			/* Two that share a core are told of once. */
			if (cpulist_has(&audit->cpus, other) && other < cpu)
				continue;
			path = text_format(CPU "/cpu%d/online", other);
			finding = audit_find(audit, path, "1");
			if (audit_file(audit, "%s", path) && !cpulist_has(&audit->cpus, other))
				audit_set(finding, SETTING_TEXT, "0");
			else
				audit_advise(finding, REMEDY_NONE,
					     "isolate only one CPU of a core, and take the other offline",
					     "");
			free(path);
		}
	}
}

/* @cpu is one of the slow ones: @path says so. */
static void find_slow_one(struct audit *audit, int cpu, const char *path, const char *value)
{
	char *what = text_format("CPU %d: %s", cpu, value);

	audit_advise(audit_find(audit, path, what), REMEDY_NONE,
		     "isolate one of the fast CPUs: isolator audit --cpu CPU", "");
	free(what);
}

static void find_slow(struct audit *audit)
{
	struct cpulist slow;
	const struct capture_file *atom = audit_list(audit, &slow, "/sys/devices/cpu_atom/cpus"),
		*one;
	int64_t capacity, most = 0;

	for (int cpu = -1; atom && (cpu = cpulist_next(&audit->cpus, cpu)) >= 0;)
		if (cpulist_has(&slow, cpu))
			find_slow_one(audit, cpu, atom->path, atom->value);
	for (int cpu = -1; (cpu = cpulist_next(&audit->online, cpu)) >= 0;)
		if (audit_number(audit, &capacity, CPU "/cpu%d/cpu_capacity", cpu) &&
		    capacity > most)
			most = capacity;
	for (int cpu = -1; (cpu = cpulist_next(&audit->cpus, cpu)) >= 0;) {
		one = audit_number(audit, &capacity, CPU "/cpu%d/cpu_capacity", cpu);
		if (one && capacity < most)
			find_slow_one(audit, cpu, one->path, one->value);
	}
}

static void find_battery(struct audit *audit)
{
	size_t count;
	char **names = audit_names(audit, &count, SUPPLY);

	for (size_t i = 0; i < count; i++) {
		const struct capture_file *type, *scope, *status;

		type = audit_file(audit, SUPPLY "/%s/type", names[i]);
		if (!type || strcmp(type->value, "Battery"))
			continue;
		/* That of a mouse. */
		scope = audit_file(audit, SUPPLY "/%s/scope", names[i]);
		if (scope && !strcmp(scope->value, "Device"))
			continue;
		status = audit_file(audit, SUPPLY "/%s/status", names[i]);
		if (status && !strcmp(status->value, "Discharging"))
			audit_advise(audit_find(audit, status->path, status->value), REMEDY_NONE,
				     "connect the power supply", "");
	}
	capture_names_free(names, count);
}

/*
 * Reads the count of @cpu into the capture, as a file that no machine has: it is a
 * register, and only the running machine's can be read.
 */
static void count_smis(struct audit *audit, const char *path, int cpu)
{
	struct capture_file *file = capture_find(audit->capture, path);
	uint64_t count;
	int fd;

	if (file || audit->capture->kind != CAPTURE_LIVE)
		return;
	fd = machine_open_smi(cpu);
	/* No module msr, or no such register: nothing that a finding would help. */
	if (fd < 0 && (errno == ENOENT || errno == ENXIO || errno == ENODEV))
		return;
	file = capture_add(audit->capture, path);
	file->error = errno;
	if (fd < 0)
		return;
	if (machine_smi(fd, &count))
		capture_fill_number(file, count);
	else
		/* A processor without the register, as virtual ones are. */
		file->error = errno == EIO ? ENOENT : errno;
	close(fd);
}

static void find_smis(struct audit *audit)
{
	const struct capture_file *file;
	int64_t count;

	for (int cpu = -1; (cpu = cpulist_next(&audit->cpus, cpu)) >= 0;) {
		char *path = text_format("/dev/cpu/%d/smi_count", cpu);

		count_smis(audit, path, cpu);
		file = audit_number(audit, &count, "%s", path);
		free(path);
		if (file && count)
			audit_advise(audit_find(audit, file->path, file->value), REMEDY_NONE,
				     "audit again after a while; if the count grew, turn off its causes in the firmware setup (USB legacy support, ECC and fan control); isolator measure hardware shows how long each takes",
				     "");
	}
}

static void find_mitigations(struct audit *audit)
{
	const struct capture_file *cpuinfo = audit_file(audit, "/proc/cpuinfo");
	bool arm64 = cpuinfo && strstr(cpuinfo->value, "CPU implementer");
	/* Only those that do work at each entry or exit. */
	const struct {
		const char *file, *has, *parameter;
	} costs[] = {
		{ "meltdown", "PTI", arm64 ? "kpti=off" : "pti=off" },
		{ "mds", "Clear CPU buffers", "mds=off" },
		{ "tsx_async_abort", "Clear CPU buffers", "tsx_async_abort=off" },
		{ "mmio_stale_data", "Clear CPU buffers", "mmio_stale_data=off" },
		{ "reg_file_data_sampling", "Clear Register File", "reg_file_data_sampling=off" },
		{ "tsa", "Clear CPU buffers", "tsa=off" },
		{ "spectre_v2", "Mitigation: IBRS", "spectre_v2=retpoline" },
		{ "spectre_v2", "BHI: SW loop", "spectre_bhi=off" },
		{ "retbleed", "Mitigation: IBRS", "retbleed=off" },
		{ "retbleed", "untrained return thunk", "retbleed=off" },
		{ "spec_rstack_overflow", "Safe RET", "spec_rstack_overflow=off" },
		{ "spec_rstack_overflow", "Mitigation: IBPB", "spec_rstack_overflow=off" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(costs); i++) {
		const struct capture_file *file = audit_file(audit, CPU "/vulnerabilities/%s",
							     costs[i].file);
		struct audit_finding *finding;
		char *fix;

		if (!file || !strstr(file->value, costs[i].has))
			continue;
		finding = audit_find(audit, file->path, file->value);
		fix = text_format("only if all programs on this machine are trusted: boot with %s",
				  costs[i].parameter);
		audit_advise(finding, REMEDY_BOOT, fix, "boot without it");
		free(fix);
	}
}

static const struct audit_check checks[] = {
	{ "machine.one-cpu", AUDIT_ERROR, false,
	  "no CPU is left for everything else", find_no_rest },
	{ "machine.first-cpu", AUDIT_INFO, false,
	  "the first CPU does work that cannot move: some timers, some interrupts, RCU callbacks",
	  find_first },
	{ "machine.virtual", AUDIT_INFO, false,
	  "this is a virtual machine: the host may take the CPU away at any time, and the guest does not see it",
	  find_virtual },
	{ "machine.siblings", AUDIT_WARNING, false,
	  "it shares its core with a CPU to isolate, and whatever runs on it slows that one down",
	  find_siblings },
	{ "machine.slow-cpu", AUDIT_WARNING, false,
	  "a CPU to isolate is one of the slow CPUs of this machine", find_slow },
	{ "machine.battery", AUDIT_WARNING, false,
	  "on battery, firmware and power management may slow the CPUs down at any time",
	  find_battery },
	{ "machine.smi", AUDIT_INFO, false,
	  "firmware interrupted the CPU this often since power-on (SMI), which no kernel can prevent",
	  find_smis },
	{ "machine.mitigation", AUDIT_INFO, false,
	  "this mitigation makes each kernel entry slower, but not user mode", find_mitigations },
	{ 0 },
};

const struct audit_group audit_machine = { "Machine", checks };
