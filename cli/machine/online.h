/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The CPUs that are online. */
#ifndef ONLINE_H
#define ONLINE_H

#include "base/cpulist.h"

#define ONLINE_PATH "/sys/devices/system/cpu/online"

/* Those of the machine at @root; 0, or -1 after an error that says why they are not known. */
int online_read(const char *root, struct cpulist *online);

/* Are the CPUs of --@option all in @online?  0, or -1 after an error that names the others. */
int online_check(const char *option, const struct cpulist *cpus, const struct cpulist *online);

#endif
