// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "attribute/trace_events.h"
#include "base/array.h"

#define M TRACE_MEASURED
#define S TRACE_SENDERS

#define VECTOR(name_) \
	{ "irq_vectors", name_ "_entry", name_, TRACE_VECTOR_ENTRY, M, { "vector" }, { NULL }, \
	  NULL }, \
	{ "irq_vectors", name_ "_exit", name_, TRACE_VECTOR_EXIT, M, { "vector" }, { NULL }, NULL }

const struct trace_kind trace_kinds[] = {
	{ "sched", "sched_switch", NULL, TRACE_SWITCH, M,
	  { "prev_pid", "prev_prio", "prev_state", "next_pid", "next_prio" },
	  { "prev_comm", "next_comm" }, NULL },
	{ "sched", "sched_waking", NULL, TRACE_WAKING, M | S,
	  { "pid", "prio", "target_cpu" }, { "comm" }, "target_cpu" },
	{ "sched", "sched_migrate_task", NULL, TRACE_MIGRATE, M | S,
	  { "pid", "prio", "orig_cpu", "dest_cpu" }, { "comm" }, NULL },
	{ "irq", "irq_handler_entry", NULL, TRACE_IRQ_ENTRY, M, { "irq" }, { "name" }, NULL },
	{ "irq", "irq_handler_exit", NULL, TRACE_IRQ_EXIT, M, { "irq" }, { NULL }, NULL },
	{ "irq", "softirq_entry", NULL, TRACE_SOFTIRQ_ENTRY, M, { "vec" }, { NULL }, NULL },
	{ "irq", "softirq_exit", NULL, TRACE_SOFTIRQ_EXIT, M, { "vec" }, { NULL }, NULL },
	{ "irq", "tasklet_entry", NULL, TRACE_TASKLET_ENTRY, M, { "func", "tasklet" }, { NULL },
	  NULL },
	{ "irq", "tasklet_exit", NULL, TRACE_TASKLET_EXIT, M, { "func", "tasklet" }, { NULL },
	  NULL },
	VECTOR("local_timer"), VECTOR("reschedule"), VECTOR("call_function"),
	VECTOR("call_function_single"), VECTOR("irq_work"), VECTOR("x86_platform_ipi"),
	VECTOR("thermal_apic"), VECTOR("threshold_apic"), VECTOR("deferred_error_apic"),
	VECTOR("error_apic"), VECTOR("spurious_apic"),
	{ "ipi", "ipi_entry", NULL, TRACE_IPI_ENTRY, M, { "reason" }, { NULL }, NULL },
	{ "ipi", "ipi_exit", NULL, TRACE_IPI_EXIT, M, { "reason" }, { NULL }, NULL },
	{ "ipi", "ipi_send_cpu", NULL, TRACE_IPI_SEND, M | S,
	  { "cpu", "callsite", "callback" }, { NULL }, "cpu" },
	{ "ipi", "ipi_send_cpumask", NULL, TRACE_IPI_MASK, M | S,
	  { "cpumask", "callsite", "callback" }, { NULL }, "cpumask" },
	{ "ipi", "ipi_raise", NULL, TRACE_IPI_RAISE, M | S, { "target_cpus", "reason" }, { NULL },
	  NULL },
	{ "csd", "csd_queue_cpu", NULL, TRACE_CALL_QUEUE, M | S,
	  { "cpu", "callsite", "func", "csd" }, { NULL }, "cpu" },
	{ "csd", "csd_function_entry", NULL, TRACE_CALL_ENTRY, M, { "func", "csd" }, { NULL },
	  NULL },
	{ "csd", "csd_function_exit", NULL, TRACE_CALL_EXIT, M, { "func", "csd" }, { NULL }, NULL },
	{ "workqueue", "workqueue_queue_work", NULL, TRACE_WORK_QUEUE, M | S,
	  { "function", "work", "cpu" }, { NULL }, "cpu" },
	{ "workqueue", "workqueue_execute_start", NULL, TRACE_WORK_ENTRY, M,
	  { "function", "work" }, { NULL }, NULL },
	{ "workqueue", "workqueue_execute_end", NULL, TRACE_WORK_EXIT, M,
	  { "function", "work" }, { NULL }, NULL },
	{ "timer", "hrtimer_expire_entry", NULL, TRACE_HRTIMER_ENTRY, M,
	  { "function", "hrtimer" }, { NULL }, NULL },
	{ "timer", "hrtimer_expire_exit", NULL, TRACE_HRTIMER_EXIT, M, { NULL, "hrtimer" },
	  { NULL }, NULL },
	{ "timer", "timer_expire_entry", NULL, TRACE_TIMER_ENTRY, M, { "function", "timer" },
	  { NULL }, NULL },
	{ "timer", "timer_expire_exit", NULL, TRACE_TIMER_EXIT, M, { NULL, "timer" }, { NULL },
	  NULL },
	{ "exceptions", "page_fault_user", NULL, TRACE_FAULT, M,
	  { "address", "ip", "error_code" }, { NULL }, NULL },
	{ "exceptions", "page_fault_kernel", NULL, TRACE_FAULT, M,
	  { "address", "ip", "error_code" }, { NULL }, NULL },
	{ "power", "cpu_idle", NULL, TRACE_IDLE, M, { "state", "cpu_id" }, { NULL }, NULL },
	{ "power", "cpu_frequency", NULL, TRACE_FREQUENCY, M | S, { "state", "cpu_id" },
	  { NULL }, "cpu_id" },
	{ "nmi", "nmi_handler", NULL, TRACE_NMI, M, { "handler", "delta_ns" }, { NULL }, NULL },
	{ "ftrace", "kernel_stack", NULL, TRACE_STACK, TRACE_ALWAYS, { "size", "caller" },
	  { NULL }, NULL },
	{ "ftrace", "print", NULL, TRACE_MARK, TRACE_ALWAYS, { NULL }, { "buf" }, NULL },
};
const size_t trace_kinds_count = ARRAY_SIZE(trace_kinds);

static bool find(const struct trace_format *format, const char *name, struct trace_field *field)
{
	const struct trace_field *found = trace_format_field(format, name);

	if (found)
		*field = *found;
	return found;
}

/* Is it more than one number: a mask, or a stack? */
static bool is_data(const struct trace_field *field)
{
	return field->elsewhere || field->size > 8;
}

bool trace_readers_add(struct trace_readers *readers, const struct trace_kind *kind,
		       const struct trace_format *format)
{
	struct trace_reader reader = { .kind = kind }, *added;

	if (readers->count == UINT8_MAX || !find(format, "common_pid", &reader.pid) ||
	    reader.pid.size != 4 || is_data(&reader.pid))
		return false;
	for (size_t i = 0; i < TRACE_NUMBERS; i++)
		if (kind->numbers[i] && !find(format, kind->numbers[i], &reader.numbers[i]))
			return false;
	for (size_t i = 0; i < TRACE_TEXTS; i++)
		if (kind->texts[i] && !find(format, kind->texts[i], &reader.texts[i]))
			return false;
	added = ARRAY_ADD(readers->readers, readers->count);
	*added = reader;
	readers->of_id[format->id] = (unsigned char)readers->count;
	return true;
}

void trace_readers_free(struct trace_readers *readers)
{
	free(readers->readers);
	readers->readers = NULL;
	readers->count = 0;
}

/* Where @field's bytes are; false: not within the record. */
static bool locate(const struct trace_record *record, const struct trace_field *field,
		   const unsigned char **at, size_t *size)
{
	size_t offset = field->offset, length = field->size;

	if (offset + length > record->size)
		return false;
	if (field->elsewhere) {
		uint32_t where;

		if (length != sizeof(where))
			return false;
		memcpy(&where, record->data + offset, sizeof(where));
		offset = where & UINT16_MAX;
		length = where >> 16;
		if (offset + length > record->size)
			return false;
	}
	*at = record->data + offset;
	*size = length;
	return true;
}

/* Of what is longer its first bytes. */
static int64_t number(const unsigned char *at, size_t size, bool negative)
{
	uint64_t value = 0;

	if (size > sizeof(value))
		size = sizeof(value);
	memcpy(&value, at, size);
	if (negative && size && size < 8 && value >> (8 * size - 1))
		value |= UINT64_MAX << (8 * size);
	return (int64_t)value;
}

static bool numbers(const struct trace_reader *reader, const struct trace_record *record,
		    struct trace_event *event)
{
	for (size_t i = 0; i < TRACE_NUMBERS; i++) {
		const struct trace_field *field = &reader->numbers[i];
		const unsigned char *at;
		size_t size;

		if (!reader->kind->numbers[i])
			continue;
		if (is_data(field) && reader->kind->type == TRACE_STACK) {
			/* The record has as many as there were, not as many as are declared. */
			if (field->offset > record->size)
				return false;
			event->data = record->data + field->offset;
			event->size = record->size - field->offset;
			continue;
		}
		if (!locate(record, field, &at, &size))
			return false;
		if (is_data(field)) {
			event->data = at;
			event->size = size;
		} else {
			event->n[i] = number(at, size, field->negative);
		}
	}
	return true;
}

bool trace_event_read(const struct trace_readers *readers, uint64_t types,
		      const struct trace_record *record, struct trace_event *event)
{
	const struct trace_reader *reader;
	const unsigned char *at;
	unsigned char place;
	uint16_t id;
	size_t size;

	if (record->size < sizeof(id))
		return false;
	memcpy(&id, record->data, sizeof(id));
	place = readers->of_id[id];
	if (!place)
		return false;
	reader = &readers->readers[place - 1];
	if (!(types & TRACE_BIT(reader->kind->type)))
		return false;
	memset(event, 0, sizeof(*event));
	event->ns = record->ns;
	event->type = reader->kind->type;
	event->call = reader->kind->call;
	if (!locate(record, &reader->pid, &at, &size))
		return false;
	event->pid = (int)number(at, size, true);
	if (!numbers(reader, record, event))
		return false;
	for (size_t i = 0; i < TRACE_TEXTS; i++) {
		const struct trace_field *field = &reader->texts[i];

		if (!reader->kind->texts[i])
			continue;
		if (event->type == TRACE_MARK) {	/* declared with no size: the rest */
			if (field->offset > record->size)
				return false;
			at = record->data + field->offset;
			size = record->size - field->offset;
		} else if (!locate(record, field, &at, &size)) {
			return false;
		}
		size = strnlen((const char *)at, size);
		if (size >= TRACE_TEXT)
			size = TRACE_TEXT - 1;
		memcpy(event->text[i], at, size);
	}
	return true;
}

bool trace_event_mask_has(const struct trace_event *event, int cpu)
{
	size_t byte = (size_t)cpu / 8;

	return cpu >= 0 && byte < event->size && event->data[byte] >> (cpu % 8) & 1;
}

uint64_t trace_event_address(const struct trace_event *event, size_t n)
{
	uint64_t address;

	if (event->n[0] < 0 || n >= (uint64_t)event->n[0] || n >= event->size / sizeof(address))
		return 0;
	memcpy(&address, event->data + n * sizeof(address), sizeof(address));
	return address;
}
