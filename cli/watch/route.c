// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/text.h"
#include "machine/task.h"
#include "watch/route.h"

#define NO_OTHER "no other CPU is left for it: protect fewer"

const char *const route_choices[] = {
	[ROUTE_ANYBODY] = "anybody",
	[ROUTE_DRIVER] = "driver",
	[ROUTE_NOBODY] = "nobody",
	[ROUTE_UNSAID] = "unsaid",
};

/* "irq/24-nvme0q0" is of interrupt 24, and so is "irq/24-s-nvme0q0"; NULL: none. */
static char *number_in(const char *name)
{
	size_t digits;

	if (strncmp(name, "irq/", 4))
		return NULL;
	digits = strspn(name + 4, "0123456789");
	return digits && name[4 + digits] == '-' ? text_format("%.*s", (int)digits, name + 4) :
		NULL;
}

static void find_threads(struct router *router)
{
	struct capture *capture = router->audit.capture;
	size_t count;
	char **tids = capture_names(capture, "/proc", &count);

	for (size_t i = 0; i < count; i++) {
		const struct capture_file *file;
		char *path, *number;

		if (!text_is_number(tids[i]))
			continue;
		path = text_format("/proc/%s/comm", tids[i]);
		file = capture_read(capture, path);
		number = file->error ? NULL : number_in(file->value);
		if (number)
			*ARRAY_ADD(router->threads, router->nr_threads) = (struct route_thread){
				.number = number,
				.tid = text_format("%s", tids[i]),
				.name = text_format("%s", file->value),
			};
		free(path);
	}
	capture_names_free(tids, count);
}

static void free_thread(struct route_thread *thread)
{
	free(thread->number);
	free(thread->tid);
	free(thread->name);
	free(thread->cpus);
}

void router_open(struct router *router, struct capture *capture, const struct guard *guard,
		 const struct cpulist *seen)
{
	const struct capture_file *online = capture_read(capture, "/sys/devices/system/cpu/online");
	const struct capture_file *realtime = capture_read(capture, "/sys/kernel/realtime");
	const struct capture_file *line = capture_read(capture, "/proc/cmdline");
	struct audit *audit = &router->audit;

	*router = (struct router){ .guard = guard, .audit.capture = capture };
	if (online->error || !cpulist_read(online->value, &audit->online))
		audit->online = *seen;
	audit->cpus = guard->cpus;
	audit->rest = audit->online;
	cpulist_minus(&audit->rest, &audit->cpus);
	audit->isolator = !capture_read(capture, "/proc/isolator/status")->error;
	router->guarded = cpulist_text(&guard->cpus);
	router->threaded = (!realtime->error && !strcmp(realtime->value, "1")) ||
		(!line->error && text_has_word(line->value, "threadirqs"));
	if (router->threaded)
		find_threads(router);
}

void router_close(struct router *router)
{
	for (size_t i = 0; i < router->nr_threads; i++)
		free_thread(&router->threads[i]);
	free(router->threads);
	free(router->guarded);
	audit_free(&router->audit);
	*router = (struct router){ 0 };
}

/* Where its thread may run.  One that ends just now is none, nor is a program of its name. */
static void look_at_thread(const struct router *router, struct route *route, const char *number)
{
	for (size_t i = 0; i < router->nr_threads; i++) {
		const struct route_thread *thread = &router->threads[i];
		struct task task;

		if (strcmp(thread->number, number) ||
		    !task_read(&task, router->audit.capture->root, thread->tid))
			continue;
		if (!task.kernel) {
			task_free(&task);
			continue;
		}
		route->thread = (struct route_thread){
			.number = text_format("%s", number),
			.tid = text_format("%s", thread->tid),
			.name = text_format("%s", thread->name),
			.cpus = cpulist_text(&task.cpus),
			.guarded = cpulist_common(&task.cpus, &router->audit.cpus),
		};
		task_free(&task);
		return;
	}
}

/* To what its affinity is to be set. */
static void advise_moving(struct router *router, const struct irq *irq, struct route *route)
{
	char *old = setting_value(SETTING_LIST, irq->file->value);

	route->should = audit_others(&router->audit, &irq->asked, SETTING_LIST);
	route->why = text_format("its affinity names CPU %s%s", old, route->choice == ROUTE_UNSAID ?
		"; if only its driver may choose, which this kernel does not show, the write fails with an Input/output error: boot with isolcpus=managed_irq instead" : "");
	if (route->should) {
		route->remedy = REMEDY_WRITE;
		route->fix = setting_command(irq->file->path, route->should);
		route->undo = setting_command(irq->file->path, old);
	} else {
		route->fix = text_format("%s", NO_OTHER);
	}
	free(old);
}

static void advise_managed(struct router *router, const struct irq *irq,
			   struct route *route)
{
	if (cpulist_within(&irq->asked, &router->audit.cpus)) {
		route->why = text_format("it is the queue of CPU %s only, and only its driver chooses: it comes when programs there use the device",
					 route->asked);
		route->fix = text_format("keep programs there from using the device, or give it fewer queues with the parameters of its driver");
		return;
	}
	if (audit_booted(&router->audit, "isolcpus", "managed_irq") &&
	    cpulist_within(&router->audit.cpus, &router->guard->of[GUARD_ISOLCPUS])) {
		route->why = text_format("only its driver chooses, and it did so while no other CPU of its queue (%s) could take it",
					 route->asked);
		route->fix = text_format("bring one of its other CPUs online, or give the device fewer queues with the parameters of its driver");
		return;
	}
	route->why = text_format("only its driver chooses (it is managed): a write to its affinity fails");
	route->remedy = REMEDY_BOOT;
	route->fix = text_format("boot with isolcpus=managed_irq,%s", router->guarded);
	route->undo = text_format("boot without isolcpus=managed_irq,%s", router->guarded);
}

/* Its handler runs where its thread may, wherever the interrupt comes. */
static void advise_thread(struct router *router, struct route *route)
{
	struct cpulist cpus;
	char *others;

	if (!cpulist_read(route->thread.cpus, &cpus))
		return;
	others = audit_others(&router->audit, &cpus, SETTING_LIST);
	route->why = text_format("the thread of its handler, %s, may run on CPU %s", route->thread.name,
				 route->thread.cpus);
	if (others) {
		route->remedy = REMEDY_COMMAND;
		route->fix = text_format("taskset -pc %s %s", others, route->thread.tid);
		route->undo = text_format("taskset -pc %s %s", route->thread.cpus, route->thread.tid);
	} else {
		route->fix = text_format("%s", NO_OTHER);
	}
	free(others);
}

static void advise_device(struct router *router, const struct irq *irq, bool hit,
			  struct route *route)
{
	switch (route->reach) {
	case IRQ_ASKED:
		advise_moving(router, irq, route);
		break;
	case IRQ_MANAGED:
		advise_managed(router, irq, route);
		break;
	case IRQ_PENDING:
		route->why = text_format("its affinity was changed: it comes once more before it moves");
		route->fix = text_format("none needed");
		break;
	case IRQ_BOUND:
		route->why = text_format("it cannot move: each CPU has its own, or the hardware fixes it");
		route->fix = text_format("find out which program uses the device on these CPUs");
		break;
	case IRQ_ELSEWHERE:
		if (route->thread.guarded) {
			advise_thread(router, route);
		} else if (hit) {
			route->why = text_format("its affinity was changed during this interval");
			route->fix = text_format("none needed");
		}
		break;
	}
}

static void look_at_device(struct router *router, const struct span_row *row,
			   struct route *route)
{
	struct audit *audit = &router->audit;
	const char *number = row->row->label;
	const struct capture_file *file;
	struct irq irq;
	char *path;

	route->device = true;
	if (!irq_look(audit, number, &irq)) {
		path = text_format("/proc/irq/%s/smp_affinity_list", number);
		file = capture_read(audit->capture, path);
		route->unread = text_format("%s: %s", path, file->error ? strerror(file->error) :
					    "no list of CPUs in it, or no driver uses it");
		free(path);
		return;
	}
	route->asked = cpulist_text(&irq.asked);
	route->goes = cpulist_text(&irq.goes);
	route->choice = irq.managed ? ROUTE_DRIVER : irq.bound ? ROUTE_NOBODY :
		irq.told ? ROUTE_ANYBODY : ROUTE_UNSAID;
	route->reach = irq_reach(&irq, &audit->cpus);
	look_at_thread(router, route, number);
	advise_device(router, &irq, row->hits, route);
}

void router_look(struct router *router, enum look_list which, struct span_row *row)
{
	row->route = calloc(1, sizeof(*row->route));
	if (!row->route)
		error_no_memory();
	if (which == LOOK_INTERRUPTS && !strcmp(row->row->class, "device") &&
	    text_is_number(row->row->label))
		look_at_device(router, row, row->route);
	else if (row->hits)
		advise(router, which, row->row, row->route);
}

void route_free(struct route *route)
{
	if (!route)
		return;
	free(route->unread);
	free(route->asked);
	free(route->goes);
	free(route->should);
	free_thread(&route->thread);
	free(route->why);
	free(route->fix);
	free(route->undo);
	free(route);
}
