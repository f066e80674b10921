// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/array.h"
#include "base/file.h"
#include "base/text.h"
#include "machine/machine.h"

#define MSR_SMI_COUNT 0x34

#if defined(__x86_64__)
#define INTEL_HW_INTERRUPTS_RECEIVED 0x1cb
#define AMD_LS_INT_TAKEN 0x2c
#define AMD_LS_SMI_RX 0x2b
#define CPUID_HYPERVISOR (1U << 31)

/* "GenuineIntel" and the like. */
static bool made_by(const char *vendor)
{
	unsigned int eax, name[3];

	return __get_cpuid(0, &eax, &name[0], &name[2], &name[1]) &&
		!memcmp(name, vendor, sizeof(name));
}

bool machine_is_virtual(void)
{
	unsigned int eax, ebx, ecx, edx;

	return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && ecx & CPUID_HYPERVISOR;
}

uint64_t machine_interrupts_event(void)
{
	if (made_by("GenuineIntel"))
		return INTEL_HW_INTERRUPTS_RECEIVED;
	return made_by("AuthenticAMD") || made_by("HygonGenuine") ? AMD_LS_INT_TAKEN : 0;
}

uint64_t machine_smi_event(void)
{
	return made_by("AuthenticAMD") || made_by("HygonGenuine") ? AMD_LS_SMI_RX : 0;
}

static bool has_smi_register(void)
{
	return made_by("GenuineIntel");
}
#elif defined(__aarch64__)
#define ARM_EXC_TAKEN 0x09

/* No instruction says it; QEMU's board, DMI and Xen do. */
bool machine_is_virtual(void)
{
	char text[128];

	if (!access("/sys/hypervisor/type", F_OK) || !access("/proc/device-tree/hypervisor", F_OK))
		return true;
	if (file_word(text, sizeof(text), "/proc/device-tree/compatible") &&
	    machine_is_virtual_board(text))
		return true;
	return file_word(text, sizeof(text), "/sys/class/dmi/id/sys_vendor") &&
		machine_is_virtual_vendor(text);
}

uint64_t machine_interrupts_event(void)
{
	return ARM_EXC_TAKEN;
}

/* There is none: firmware there is entered by calls. */
uint64_t machine_smi_event(void)
{
	return 0;
}

static bool has_smi_register(void)
{
	return false;
}
#endif

int machine_open_smi(int cpu)
{
	char *path;
	int file, error;

	if (!has_smi_register()) {
		errno = ENODEV;
		return -1;
	}
	path = text_format("/dev/cpu/%d/msr", cpu);
	file = open(path, O_RDONLY | O_CLOEXEC);
	error = errno;
	free(path);
	errno = error;
	return file;
}

bool machine_smi(int file, uint64_t *count)
{
	if (pread(file, count, sizeof(*count), MSR_SMI_COUNT) != (ssize_t)sizeof(*count))
		return false;
	/* What is above is reserved. */
	*count &= UINT32_MAX;
	return true;
}

bool machine_is_virtual_board(const char *compatible)
{
	return strstr(compatible, "dummy-virt");
}

bool machine_is_virtual_vendor(const char *vendor)
{
	static const char *const vendors[] = {
		"QEMU", "VMware", "Xen", "innotek", "Amazon EC2", "Google", "Parallels",
		"Microsoft Corporation Virtual", "Alibaba", "OpenStack",
	};

	for (size_t i = 0; i < ARRAY_SIZE(vendors); i++)
		if (!strncmp(vendor, vendors[i], strlen(vendors[i])))
			return true;
	return false;
}
