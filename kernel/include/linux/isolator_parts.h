/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Isolator's parts inside other subsystems; documented where they are defined.
 * Only kernel/isolator/ calls them.
 */
#ifndef _LINUX_ISOLATOR_PARTS_H
#define _LINUX_ISOLATOR_PARTS_H

#include <linux/types.h>

/* kernel/time/ */
bool tick_isolator_ready(void);
bool tick_isolator_stops(void);
bool tick_isolator_stop(void);
void tick_isolator_start(void);
void tick_isolator_run(void);
void tick_isolator_take(void *unused);
int tick_isolator_keeper(void);
bool hrtimers_isolator_move(int target, u64 *left);
ktime_t hrtimers_isolator_mute(void);
void hrtimers_isolator_resume(void);
bool timers_isolator_move(int target);
u64 timers_isolator_next(int cpu);
bool timers_isolator_leave(void);
void timers_isolator_join(void);

/* kernel/context_tracking.c, kernel/sched/ */
void ct_isolator(bool on);
void ct_isolator_key(bool on);
void ct_isolator_enter(void);
void ct_isolator_leave(void);
void vtime_isolator(bool on);
void sched_isolator_fair_server(int cpu, bool on);
unsigned int sched_isolator_waiting(int cpu);
void sched_isolator_load(int cpu);
#ifdef CONFIG_CFS_BANDWIDTH
void sched_isolator_charge(int cpu);
#else
static inline void sched_isolator_charge(int cpu) { }
#endif

#endif /* _LINUX_ISOLATOR_PARTS_H */
