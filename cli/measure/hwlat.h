/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tracer hwlat: a loop with interrupts off, so that a gap comes from below the kernel
 * (firmware, a hypervisor) or from an NMI.  Its series: hw, the longest gap of each window
 * in which one was above the threshold; nmi, the same where an NMI came.
 */
#ifndef HWLAT_H
#define HWLAT_H

#include "measure/tracer.h"

#define HWLAT_STEP_NS 1000

/* Whole us: of each @window_ns it looks for @width_ns. */
void hwlat_set(struct tracer_options *options, uint64_t threshold_ns, uint64_t width_ns,
	       uint64_t window_ns);

/* Its options are struct tracer_options. */
extern const struct tracer_method hwlat_method;

#endif
