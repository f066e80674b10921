/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What kind of machine this is. */
#ifndef MACHINE_H
#define MACHINE_H

#include <stdbool.h>
#include <stdint.h>

/* Does a hypervisor run below this kernel? */
bool machine_is_virtual(void);

/* The raw event of interrupts that the CPU has taken; 0: not known. */
uint64_t machine_interrupts_event(void);

/* The raw event of system management interrupts; 0: not known. */
uint64_t machine_smi_event(void);

/* Intel's register that counts them, on @cpu, open for machine_smi(); -1 with errno. */
int machine_open_smi(int cpu);

/* How often one came since power-on; false with errno: EIO, the CPU does not have it. */
bool machine_smi(int file, uint64_t *count);

/* Is @vendor, as DMI has it, a name that a hypervisor gives to its machines? */
bool machine_is_virtual_vendor(const char *vendor);

/* Is @compatible, as the device tree's root has it, the board of a hypervisor? */
bool machine_is_virtual_board(const char *compatible);

#endif
