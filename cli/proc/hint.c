// SPDX-License-Identifier: GPL-2.0-or-later
#include <stddef.h>
#include <string.h>

#include "base/array.h"
#include "proc/hint.h"

struct entry {
	const char *name;
	const char *text;
};

#define MEMBARRIER "membarrier(): a thread of the program, or of its runtime, synchronises all others and waits until the tick; do without it while isolated, or tick more often"
#define KERNEL_MAPPINGS "kernel mappings were freed or changed (vmalloc, modules, BPF): done at once, this CPU flushes at its next kernel entry; nothing to do"
#define KERNEL_ATTRIBUTES "kernel memory got other attributes (drivers, modules, graphics): the sender waits until the tick; load such things before the start, or tick more often"
#define DRAINED "each CPU was asked to flush its cached pages or statistics, and this CPU has none; nothing to do"
#define TRACING "tracing is set up on each CPU, here at the tick; set it up before the start, or leave this CPU out (tracing_cpumask)"
#define PERF "a program counts events on this CPU (perf): the counter is set up at the next tick; count another CPU, or open it before the start"
#define MSR "a program reads or writes a model-specific register of this CPU (turbostat, rdmsr, cpufreq) and waits until the tick; exclude this CPU there"

/* By the function that was to be called, without what a compiler appends. */
static const struct entry callbacks[] = {
	{ "do_sync_core", "kernel text was patched (static keys, tracing, modules, BPF): done at once, this CPU catches up at its next kernel entry; nothing to do" },
	{ "do_kernel_range_flush", KERNEL_MAPPINGS },
	{ "do_flush_tlb_deferrable", KERNEL_MAPPINGS },
	{ "__cpa_flush_tlb", KERNEL_ATTRIBUTES },
	{ "__cpa_flush_all", KERNEL_ATTRIBUTES },
	{ "do_flush_tlb_all", "kernel page tables were freed or split (modules, BPF, large pages): the sender waits until the tick; load such things before the start, or tick more often" },
	{ "flush_tlb_func", "another thread of the program unmaps or protects memory, and waits until the tick; do that before the start, or tick more often" },
	{ "ipi_mb", MEMBARRIER },
	{ "ipi_sync_core", MEMBARRIER },
	{ "ipi_rseq", MEMBARRIER },
	{ "ipi_sync_rq_state", MEMBARRIER },
	{ "flush_tlb_removed", "another thread of the program unmapped memory and did not wait (quarantine): this CPU flushes at its next kernel entry; nothing to do" },
	{ "isolator_entered", "another thread of the program maps memory where something was unmapped that waits in the quarantine, and waits until the tick; tick more often, or let the kernel choose the address" },
	{ "nmi_cpu_backtrace", "the kernel asked for the stack of every CPU (sysrq-l, a lockup or stall report): always delivered at once; the kernel log says why" },
	{ "multi_cpu_stop", "the kernel stopped all CPUs for something that each must do (memory types, microcode), or this one was in the kernel; the name and stack of the sender say why" },
	{ "take_cpu_down", "another CPU went offline: user mode counts as stopped; nothing to do" },
	{ "cache_rendezvous_handler", "another CPU came online: user mode counts as stopped; nothing to do" },
	{ "change_clocksource", "the kernel changed its clock: user mode counts as stopped; nothing to do" },
	{ "__isolator_signal", "the isolated task was killed: always delivered at once" },
	{ "ftrace_sync_ipi", "the function tracer asks whether this CPU still runs old code; user mode does not; nothing to do" },
	{ "tlb_remove_table_smp_sync", "page tables were freed, and user mode does not walk them; nothing to do" },
	{ "do_nothing", "the kernel asks whether this CPU has left kernel code; in user mode it has; nothing to do" },
	{ "isolator_restart_tick", "Isolator's own request for a tick, which user mode does not need; nothing to do" },
	{ "rcu_exp_handler", "an expedited RCU grace period asks for this CPU; user mode counts as quiet, so this is rare" },
	{ "rcu_barrier_handler", "a task waits for all RCU callbacks (a module or a file system is removed), until the tick" },
	{ "lru_add_drain_per_cpu", DRAINED },
	{ "refresh_vm_stats", DRAINED },
	{ "klp_sync", "a live patch asks whether this CPU still runs old code; user mode does not; nothing to do" },
	{ "retrigger_next_event", "the clock was set: each CPU checks its timers again, this one at the tick; set the clock before the start, and only slew it later" },
	{ "rb_ipi", TRACING },
	{ "ignore_task_cpu", TRACING },
	{ "enable_trace_buffered_event", TRACING },
	{ "disable_trace_buffered_event", TRACING },
	{ "remote_function", PERF },
	{ "__perf_event_read", PERF },
	{ "__perf_event_exit_context", PERF },
	{ "cpuid_smp_cpuid", "a program reads /dev/cpu/N/cpuid of this CPU and waits until the tick; exclude this CPU there" },
	{ "flush_ldt", "another thread of the program changes its LDT (modify_ldt), and waits until the tick; do that before the start" },
	{ "__rdmsr_on_cpu", MSR },
	{ "__wrmsr_on_cpu", MSR },
	{ "__rdmsr_safe_on_cpu", MSR },
	{ "__wrmsr_safe_on_cpu", MSR },
	{ "isolator_perf_refused", "a program tried to count events on this CPU (perf) and got EBUSY; to let it wait instead: echo perf queue > /proc/isolator/limits" },
	{ "__isolator_read_refused", "a program tried to read a register of this CPU (turbostat, rdmsr, cpuid) and got EBUSY; to let it wait instead: echo msr queue > /proc/isolator/limits" },
	{ "sched_setaffinity", "a program tried to bind a task to isolated CPUs only, or the isolated task elsewhere, and got EBUSY; bind it to other CPUs" },
};

/* By kind, for requests without a function. */
static const struct entry kinds[] = {
	{ "wake", "a sleeping task was woken that last ran on this CPU; it waits for a kernel entry; exclude this CPU from its affinity" },
	{ "resched", "another task of this CPU is ready to run; it waits until the tick; move it away (taskset, cpuset), or let ticks yield (TICK_YIELD)" },
	{ "signal", "signals other than SIGKILL, debuggers and task work wait until the tick; tick more often, or send none to the isolated thread" },
	{ "thread", "a kernel thread of this CPU has work; ticks with TICK_YIELD yield the CPU to it; find what gives it work, or tick more often" },
	{ "timer", "a timer that is bound to this CPU expired: it runs at the tick; arm such timers on another CPU, and none in the task" },
	{ "clock", "CPU-time limits and timers (RLIMIT_CPU, RLIMIT_RTTIME, setitimer) are checked by ticks; lift them for the isolated task" },
	{ "others", "the kernel lists a limited number of senders; a new isolation begins with an empty list" },
};

#define UNKNOWN_CALLBACK "an unknown callback, so it was queued: please report it, with the stack"
#define UNKNOWN_KIND "this command does not know this kind of request: install the command that belongs to the kernel"

static const char *find(const struct entry *entries, size_t count, const char *name,
			size_t length)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(entries[i].name) == length && !strncmp(entries[i].name, name, length))
			return entries[i].text;
	return NULL;
}

const char *hint(const char *kind, const char *callback)
{
	const char *text;

	if (callback) {
		/* "func.constprop.0" and "func[module]" are func. */
		text = find(callbacks, ARRAY_SIZE(callbacks), callback, strcspn(callback, ". ["));
		return text ? text : UNKNOWN_CALLBACK;
	}
	text = find(kinds, ARRAY_SIZE(kinds), kind, strlen(kind));
	return text ? text : UNKNOWN_KIND;
}
