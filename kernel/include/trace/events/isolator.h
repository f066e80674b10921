/* SPDX-License-Identifier: GPL-2.0-only */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM isolator

#if !defined(_TRACE_ISOLATOR_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_ISOLATOR_H

#include <linux/tracepoint.h>

#define isolator_kind_symbols						\
	{ 0, "call" }, { 1, "wake" }, { 2, "resched" }, { 3, "signal" },\
	{ 4, "thread" }, { 5, "timer" }, { 6, "clock" }

TRACE_EVENT(isolator_start,
	TP_PROTO(int cpu, u32 mask, u32 got),
	TP_ARGS(cpu, mask, got),
	TP_STRUCT__entry(__field(int, cpu) __field(u32, mask) __field(u32, got)),
	TP_fast_assign(__entry->cpu = cpu; __entry->mask = mask; __entry->got = got;),
	TP_printk("cpu=%d mask=%#x got=%#x", __entry->cpu, __entry->mask,
		  __entry->got)
);

TRACE_EVENT(isolator_end,
	TP_PROTO(int cpu, int why),
	TP_ARGS(cpu, why),
	TP_STRUCT__entry(__field(int, cpu) __field(int, why)),
	TP_fast_assign(__entry->cpu = cpu; __entry->why = why;),
	TP_printk("cpu=%d why=%d", __entry->cpu, __entry->why)
);

TRACE_EVENT(isolator_tick,
	TP_PROTO(int cpu, u32 due, u64 yielded),
	TP_ARGS(cpu, due, yielded),
	TP_STRUCT__entry(__field(int, cpu) __field(u32, due) __field(u64, yielded)),
	TP_fast_assign(__entry->cpu = cpu; __entry->due = due; __entry->yielded = yielded;),
	TP_printk("cpu=%d due=%#x yielded=%llu", __entry->cpu, __entry->due,
		  __entry->yielded)
);

TRACE_EVENT(isolator_queue,
	TP_PROTO(int cpu, int kind, void *func, unsigned long caller),
	TP_ARGS(cpu, kind, func, caller),
	TP_STRUCT__entry(__field(int, cpu) __field(int, kind)
			 __field(void *, func) __field(unsigned long, caller)),
	TP_fast_assign(__entry->cpu = cpu; __entry->kind = kind;
		       __entry->func = func; __entry->caller = caller;),
	TP_printk("cpu=%d kind=%s func=%ps caller=%pS", __entry->cpu,
		  __print_symbolic(__entry->kind, isolator_kind_symbols),
		  __entry->func, (void *)__entry->caller)
);

TRACE_EVENT(isolator_deadline_miss,
	TP_PROTO(int cpu, int kind, void *func, u64 waited),
	TP_ARGS(cpu, kind, func, waited),
	TP_STRUCT__entry(__field(int, cpu) __field(int, kind)
			 __field(void *, func) __field(u64, waited)),
	TP_fast_assign(__entry->cpu = cpu; __entry->kind = kind;
		       __entry->func = func; __entry->waited = waited;),
	TP_printk("cpu=%d kind=%s func=%ps waited=%llu", __entry->cpu,
		  __print_symbolic(__entry->kind, isolator_kind_symbols),
		  __entry->func, __entry->waited)
);

/* A call of @func that is avoided for @cpu, or that is delivered to it at once. */
DECLARE_EVENT_CLASS(isolator_call,
	TP_PROTO(int cpu, void *func),
	TP_ARGS(cpu, func),
	TP_STRUCT__entry(__field(int, cpu) __field(void *, func)),
	TP_fast_assign(__entry->cpu = cpu; __entry->func = func;),
	TP_printk("cpu=%d func=%ps", __entry->cpu, __entry->func)
);

DEFINE_EVENT(isolator_call, isolator_defer, TP_PROTO(int cpu, void *func), TP_ARGS(cpu, func));
DEFINE_EVENT(isolator_call, isolator_exclude, TP_PROTO(int cpu, void *func), TP_ARGS(cpu, func));
DEFINE_EVENT(isolator_call, isolator_immediate, TP_PROTO(int cpu, void *func), TP_ARGS(cpu, func));

#endif /* _TRACE_ISOLATOR_H */

#include <trace/define_trace.h>
