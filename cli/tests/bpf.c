// SPDX-License-Identifier: GPL-2.0-or-later
/* What isolator-bpf makes of records, fed to it: names, sums, losses, the document. */
#include <stdlib.h>

#include "base/error.h"
#include "bpf/noise.h"
#include "check.h"

static struct names names;
static uint64_t stack[RECORD_STACK];

static size_t give_stack(void *context, int number, uint64_t *calls, size_t most)
{
	size_t count = 0;

	(void)context;
	while (number == 7 && count < most && stack[count]) {
		calls[count] = stack[count];
		count++;
	}
	return count;
}

static struct reader reader = { &names, give_stack, NULL };

static enum cause_kind named(unsigned int type, uint64_t first, const char *name,
			     const char **who)
{
	const __u64 key[2] = { first, 0 };

	return sum_name(&reader, type, key, name, who);
}

static enum cause_kind named_thread(unsigned int type, const char *comm, const char **who)
{
	__u64 key[2] = { 0 };

	memcpy(key, comm, strlen(comm));
	return sum_name(&reader, type, key, "", who);
}

static void test_names(void)
{
	const char *who;

	CHECK(named(RECORD_IRQ, 24, "eth0", &who) == CAUSE_INTERRUPT);
	CHECK_TEXT(who, "eth0");
	CHECK(named(RECORD_IRQ, 27, "arch_timer", &who) == CAUSE_TIMER);
	CHECK(named(RECORD_VECTOR, RECORD_LOCAL_TIMER, "", &who) == CAUSE_TIMER);
	CHECK(named(RECORD_VECTOR, RECORD_RESCHEDULE, "", &who) == CAUSE_IPI);
	CHECK_TEXT(who, "reschedule");
	CHECK(named(RECORD_VECTOR, RECORD_THERMAL, "", &who) == CAUSE_INTERRUPT);
	CHECK(named(RECORD_VECTOR, 1000, "", &who) == CAUSE_INTERRUPT && !who);
	CHECK(named(RECORD_CALL, 0x1010, "", &who) == CAUSE_IPI);
	CHECK_TEXT(who, "flush_tlb_func");
	CHECK(named(RECORD_CALL, 0x2000, "", &who) == CAUSE_TEXT_PATCH);
	CHECK(named(RECORD_SOFTIRQ, 3, "", &who) == CAUSE_SOFTIRQ);
	CHECK_TEXT(who, "NET_RX");
	CHECK(named(RECORD_SOFTIRQ, 99, "", &who) == CAUSE_SOFTIRQ && !who);
	CHECK(named(RECORD_WORK, 0x3000, "", &who) == CAUSE_KWORKER);
	CHECK_TEXT(who, "vmstat_update");
	CHECK(named(RECORD_WORK, 1, "", &who) == CAUSE_KWORKER && !who);
	CHECK(named(RECORD_FAULT, RECORD_FAULT_KERNEL, "", &who) == CAUSE_FAULT);
	CHECK_TEXT(who, "kernel");
	CHECK(named(RECORD_TYPES + 5, 1, "", &who) == CAUSE_UNKNOWN);
	CHECK(named_thread(RECORD_PREEMPTION, "hog", &who) == CAUSE_PREEMPTION);
	CHECK_TEXT(who, "hog");
	CHECK(named_thread(RECORD_THREAD, "kworker/1:2", &who) == CAUSE_KWORKER);
	CHECK(named_thread(RECORD_PREEMPTION, "irq/24-eth0", &who) == CAUSE_INTERRUPT);
	CHECK(named_thread(RECORD_MIGRATION, "kworker/1:2", &who) == CAUSE_MIGRATION);
	/* Not ended by a NUL: the kernel's room is full. */
	CHECK(named_thread(RECORD_THREAD, "sixteen letters!", &who) == CAUSE_THREAD);
	CHECK_TEXT(who, "sixteen letters");
}

static struct record_tally tally_of(uint64_t count, uint64_t total, uint64_t worst, int cpu)
{
	struct record_tally tally = {
		.count = count, .total_ns = total, .worst_ns = worst, .worst_at_ns = 10 * worst,
		.buckets = { [3] = count },
		.sender = { .cpu = cpu, .pid = 42, .stack = 7, .known = cpu >= 0,
			    .comm = "caller" },
	};

	return tally;
}

static void test_sums(void)
{
	struct record_key call = { .cpu = 1, .type = RECORD_CALL, .who = { 0x1000 } };
	struct record_key soft = { .cpu = 1, .type = RECORD_SOFTIRQ, .who = { 3 } };
	struct record_tally small = tally_of(2, 100, 60, 0), large = tally_of(3, 500, 300, 2);
	struct record_tally none = { 0 };
	struct sums sums = { 0 }, all = { 0 };

	/* Two addresses of one function are one. */
	sums_add(&sums, &reader, &call, &large);
	call.who[0] = 0x1010;
	sums_add(&sums, &reader, &call, &small);
	sums_add(&sums, &reader, &soft, &small);
	soft.cpu = 2;
	sums_add(&sums, &reader, &soft, &small);
	sums_add(&sums, &reader, &soft, &none);
	sums_sort(&sums);
	CHECK(sums.count == 3);
	CHECK(sums.list[0].count == 5 && sums.list[0].total_ns == 600);
	CHECK(sums.list[0].worst_ns == 300 && sums.list[0].worst_at_ns == 3000);
	CHECK(sums.list[0].buckets[3] == 5);
	CHECK_TEXT(sums.list[0].sender, "caller");
	CHECK(sums.list[0].sender_cpu == 2);
	/* Without what tracing added to it. */
	CHECK(sums.list[0].nr_stack == 1);
	CHECK_TEXT(sums.list[0].stack[0], "vmstat_update");
	sums_merge(&all, &sums);
	CHECK(all.count == 2 && all.list[1].count == 4 && all.list[1].cpu == -1);
	sums_free(&sums);
	sums_free(&all);
}

static struct record_loss loss_of(unsigned int parts)
{
	struct record_loss loss = {
		.from_ns = 1000, .to_ns = 6000, .number = 9, .cpu = 1, .pid = 100,
		.nr_parts = parts,
		.parts = {
			{ .type = RECORD_SOFTIRQ, .who = { 1 }, .ns = 500 },
			{ .type = RECORD_IRQ, .who = { 24 }, .name = "eth0", .ns = 3000,
			  .pid = 100 },
			{ .type = RECORD_CALL, .who = { 0x1000 }, .ns = 700,
			  .sender = { .cpu = 0, .pid = 42, .stack = -1, .known = 1,
				      .comm = "caller" } },
		},
	};

	return loss;
}

static void test_loss(void)
{
	struct record_loss loss = loss_of(3);
	struct finding finding;

	loss_finding(&reader, &loss, 1000000, &finding);
	CHECK(finding.excess.value_ns == 5000 && finding.excess.trigger == 9);
	CHECK(finding.at_ns == 1001000);
	CHECK(finding.count == 3 && finding.explained_ns == 4200);
	CHECK(finding.causes[0].kind == CAUSE_INTERRUPT && finding.causes[0].pid == -1);
	CHECK_TEXT(finding.causes[0].who, "eth0");
	CHECK_TEXT(finding.causes[1].sender, "caller");
	CHECK(finding.causes[1].sender_cpu == 0);
	/* What had no room is told, and a count that cannot be is not believed. */
	loss = loss_of(1000);
	loss.rest_ns = 100;
	loss_finding(&reader, &loss, 0, &finding);
	CHECK(finding.count == 4 && finding.explained_ns == 4300);
	CHECK(finding.causes[3].kind == CAUSE_UNKNOWN);
	/* It ended on another CPU: that explains the rest. */
	loss = loss_of(3);
	loss.moved = 1;
	loss_finding(&reader, &loss, 0, &finding);
	CHECK(finding.explained_ns == 5000 && finding.causes[1].kind == CAUSE_MIGRATION);
	CHECK(finding.causes[1].ns == 800);
	/* Who ran when it left ran on: that was no longer its loss. */
	loss.to_ns = 4000;
	loss_finding(&reader, &loss, 0, &finding);
	CHECK(finding.explained_ns == 3000 && finding.count == 3);
	CHECK(finding.causes[0].kind == CAUSE_INTERRUPT && finding.causes[0].ns == 1800);
}

static void test_last(void)
{
	struct record_state state = { .worst_ns = 10 };
	struct record_loss loss;

	CHECK(!loss_last(&state, 9000, &loss));
	state.loss = loss_of(3);
	CHECK(loss_last(&state, 9000, &loss));
	CHECK(loss.to_ns == 6000 && state.losses == 1 && state.lost_ns == 5000);
	CHECK(state.buckets[12] == 1 && state.worst_ns == 5000 && state.worst_at_ns == 6000);
	CHECK(!loss_last(&state, 9000, &loss));
	/* Its task still waits. */
	state.loss = loss_of(3);
	state.loss.to_ns = 0;
	CHECK(loss_last(&state, 9000, &loss) && loss.to_ns == 9000);
	CHECK(state.losses == 2 && state.worst_ns == 8000);
}

static void test_verdict(void)
{
	struct noise_options options = { .limit_ns = 100 };
	struct noise_cpu cpus[2] = { { .cpu = 1 }, { .cpu = 2 } };
	struct noise_run run = { .options = &options, .cpus = cpus, .nr_cpus = 2, .ended_ns = 1000 };
	struct noise_total total;

	cpus[0].state.worst_ns = 100;
	CHECK(noise_exit(&run) == EXIT_PASS && noise_complete(&run));
	cpus[1].state.worst_ns = 101;
	CHECK(noise_exit(&run) == EXIT_EXCEEDED);
	options.limit_ns = 0;
	CHECK(noise_exit(&run) == EXIT_PASS);
	run.cost.missed = 1;
	CHECK(noise_exit(&run) == EXIT_INCONCLUSIVE && !noise_complete(&run));
	run.cost.missed = 0;
	cpus[1].state.uncounted = 1;
	CHECK(noise_exit(&run) == EXIT_INCONCLUSIVE);
	/* Of 4 events 2 were measured, 50 ns together: 100 ns of twice 1000. */
	cpus[0].state.events = 4;
	cpus[0].state.sampled = 2;
	cpus[0].state.sampled_ns = 50;
	total = noise_total(&run);
	CHECK(total.event_ns == 25 && total.share > 0.0499 && total.share < 0.0501);
}

static const struct test tests[] = {
	{ "names of what was counted", test_names },
	{ "sums over addresses and CPUs, with the worst one's sender", test_sums },
	{ "a loss as causes", test_loss },
	{ "the loss that nothing came after", test_last },
	{ "verdict and cost", test_verdict },
};

int main(void)
{
	static const char symbols[] =
		"1000 T flush_tlb_func\n2000 t do_sync_core\n3000 t vmstat_update\n"
		"4000 t bpf_trace_run2\n5000 t __traceiter_csd_queue_cpu\n";
	int code;

	names_open(&names, strdup(symbols), NULL, -1);
	stack[0] = 0x4000;
	stack[1] = 0x5000;
	stack[2] = 0x3008;
	code = check_run(tests, sizeof(tests) / sizeof(tests[0]));
	names_close(&names);
	return code;
}
