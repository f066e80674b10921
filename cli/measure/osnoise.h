/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tracer osnoise: what interrupts a loop of its own, or any program, by class.  Its
 * series: noise, each gap of the loop; hw, those of them in which nothing of the kernel
 * ran; nmi, irq, softirq and thread, how long each of these took; lost, of each second of
 * the loop.
 */
#ifndef OSNOISE_H
#define OSNOISE_H

#include "measure/tracer.h"

#define OSNOISE_STEP_NS 1

/*
 * @program 0: its loop, whose gaps are above @threshold_ns, whole us; else what interrupts
 * whatever runs on the CPUs, but for the threads of that program.
 */
void osnoise_set(struct tracer_options *options, const struct cpulist *cpus,
		 uint64_t threshold_ns, pid_t program);

/* Their options are struct tracer_options. */
extern const struct tracer_method osnoise_method, osnoise_of_method;

#endif
