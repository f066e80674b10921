// SPDX-License-Identifier: GPL-2.0-or-later
/* The programs themselves, for a test to call. */
#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>

#include "fake.h"

/* The settings are written before programs are loaded; here they are variables. */
#define const
#include "bpf/noise.bpf.c"
#undef const

#include "programs.h"

void *const programs_tallies = &tallies;
void *const programs_states = &states;
