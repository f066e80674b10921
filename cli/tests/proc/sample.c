// SPDX-License-Identifier: GPL-2.0-or-later
/* Samples, what is ranked in them and what lies between two of them. */
#include <stdlib.h>

#include "base/array.h"
#include "base/cpulist.h"
#include "check.h"
#include "proc/ranked.h"
#include "proc/proc.h"
#include "status/state.h"

static struct proc_sample busy, later, quiet, manual;

static void status(void)
{
	const struct proc_cpu *one = proc_cpu(&busy, 1), *three = proc_cpu(&busy, 3);

	CHECK(busy.nr_cpus == 3 && !proc_cpu(&busy, 0) && !proc_cpu(NULL, 1));
	CHECK_TEXT(busy.allowed, "1-3");
	CHECK_TEXT(busy.isolated, "1,3");
	CHECK(one->isolated && one->mask == 7 && one->got == 0x7f && one->depth == 1);
	CHECK(one->deadline_ns == 1000000000 && one->spin_ns == 100000000);
	CHECK(one->yield_ns == 500000 && one->user);
	CHECK(!one->batch_ns && one->auto_tick && three->batch_ns == 20000000 && !three->auto_tick);
	CHECK(one->owner == 5000041 && proc_cpu(&manual, 1)->owner == 42);
	CHECK(!proc_cpu(&manual, 1)->batch_ns && !proc_cpu(&manual, 1)->auto_tick);
	CHECK(three->deadline_ns == PROC_NEVER && three->depth == 2 && !three->user);
	CHECK(!proc_cpu(&busy, 2)->isolated);
	CHECK_TEXT(proc_cpu(&busy, 2)->end, "exit");
}

static void stats(void)
{
	const struct proc_cpu *one = proc_cpu(&busy, 1);

	CHECK(one->total.n[DEFERRED] == 57 && one->total.n[REFUSED] == 4);
	CHECK(one->uncounted == 5 && one->nr_kinds == 7 && one->nr_callbacks == 6);
	CHECK_TEXT(one->callbacks[2].name, "ack_flush[kvm]");
	CHECK(one->callbacks[1].counts.n[MISSED] == 2);
	CHECK_TEXT(proc_longest(one)->name, "call");
	CHECK(!proc_longest(proc_cpu(&quiet, 1)));
	CHECK(proc_cpu(&busy, 3)->total.n[DEFERRED] == UINT64_MAX);
}

static void senders(void)
{
	const struct proc_cpu *one = proc_cpu(&busy, 1);
	const struct proc_sender *s = one->senders;

	CHECK(busy.names == NAMES_SEEN && busy.consistent && one->nr_senders == 10);
	CHECK_TEXT(s[3].comm, "Web Content (2)");
	CHECK(s[3].stack.count == 8 && s[2].stack.count == 0);
	/* Two entries of the same names are one. */
	CHECK(s[3].counts.n[QUEUED] == 10 && s[3].counts.n[MISSED] == 2);
	CHECK(s[3].longest_ns == 100300000);
	CHECK_TEXT(s[3].stack.lines[7], "__x64_sys_munmap+0x17/0x20");
	CHECK(!s[2].callback);
	CHECK_TEXT(s[2].kind, "thread");
	CHECK_TEXT(s[4].stack.lines[0], "kvm_make_all_cpus_request+0x8e/0xc0 [kvm]");
	CHECK_TEXT(s[5].comm, "comm x kind y");
	CHECK_TEXT(s[6].comm, "a\\033[31mb\\012");
	CHECK_TEXT(s[8].comm, "");
	CHECK_TEXT(s[9].kind, "others");
}

static void deliveries(void)
{
	const struct proc_cpu *one = proc_cpu(&busy, 1);
	const struct proc_delivery *b = one->deliveries;

	CHECK(one->nr_deliveries == 3 && !b[0].immediate && b[1].immediate && b[0].named);
	CHECK(b[0].at_ns == 5000000000 && b[0].waited_ns == 100000000);
	CHECK(b[0].sender_cpu == 0 && b[0].pid == 77 && b[0].stack.count == 2);
	CHECK_TEXT(b[0].comm, "Web Content (2)");
	CHECK_TEXT(b[2].caller, "kvm_unmap+0x8e/0xc0 [kvm]");
}

static struct ranked_senders rank_all(const struct proc_sample *now, const struct proc_sample *before,
				      int cpu)
{
	struct ranked_senders ranked = { 0 };

	ranked_add(&ranked, proc_cpu(now, cpu), proc_cpu(before, cpu));
	ranked_rank(&ranked);
	return ranked;
}

static void ranks(void)
{
	static const char *const order[] = {
		"Web Content (2)",	/* deadline misses */
		"a\\033[31mb\\012",	/* an immediate delivery */
		"kworker/1:1",		/* queued, 1.2 ms */
		"comm x kind y",	/* 1 ms */
		"-",			/* 500 ns */
		"qemu",			/* 73 ns */
		"insmod",		/* deferred 40 times */
		"sh",			/* 12 */
		"pr\xc3\xbc" "f",	/* 6 */
		"",			/* 4 */
	};
	struct ranked_senders ranked = rank_all(&busy, NULL, 1);

	CHECK(ranked.count == ARRAY_SIZE(order));
	for (size_t i = 0; i < ranked.count; i++)
		CHECK_TEXT(ranked.list[i].sender->comm, order[i]);
	ranked_free(&ranked);
}

static void words(void)
{
	struct ranked_senders ranked = rank_all(&busy, NULL, 1);
	static const char *const want[] = {
		"missed 2 times, queued 10 times, longest 100 ms: Web Content (2) asked for flush_tlb_func (kind call)",
		"immediate 1 time: a\\033[31mb\\012 asked for nmi_cpu_backtrace (kind call)",
		"queued 40 times, longest 1.2 ms: kworker/1:1 asked to run (kind thread)",
	};

	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		char *have = sender_words(&ranked.list[i]);

		CHECK_TEXT(have, want[i]);
		free(have);
	}
	ranked_free(&ranked);
}

static void spans(void)
{
	struct ranked_senders ranked = rank_all(&later, &busy, 1);

	CHECK(ranked.count == 4);
	/* The deadline miss waited as long as one before: nobody knows how long. */
	CHECK_TEXT(ranked.list[0].sender->comm, "Web Content (2)");
	CHECK(ranked.list[0].counts.n[MISSED] == 1 && ranked.list[0].counts.n[QUEUED] == 1);
	CHECK(!ranked.list[0].longest_ns);
	CHECK_TEXT(ranked.list[1].sender->comm, "kworker/1:1");
	CHECK(ranked.list[1].counts.n[QUEUED] == 5 && ranked.list[1].longest_ns == 2500000);
	/* It was not there before. */
	CHECK_TEXT(ranked.list[2].sender->comm, "swapper/0");
	CHECK(ranked.list[2].counts.n[QUEUED] == 7 && ranked.list[2].longest_ns == 8000);
	CHECK_TEXT(ranked.list[3].sender->comm, "insmod");
	CHECK(ranked.list[3].counts.n[DEFERRED] == 6);
	ranked_free(&ranked);
	/* A new isolation: all of it. */
	ranked = rank_all(&later, &busy, 3);
	CHECK(ranked.count == 1 && ranked.list[0].counts.n[DEFERRED] == 3);
	ranked_free(&ranked);
}

static void rates(void)
{
	struct cpulist all = { 0 };
	struct state first = { .sample = busy }, second = { .sample = later };
	struct state other = { .sample = quiet };
	struct state_view view = { .now = &second, .before = &first, .only = &all };

	first.sample.taken_ns = 7000000000;
	second.sample.taken_ns = 9500000000;
	CHECK(state_seconds(&view) > 2.4999 && state_seconds(&view) < 2.5001);
	CHECK(state_before(&view, proc_cpu(&later, 1)) == proc_cpu(&busy, 1));
	CHECK(!state_before(&view, proc_cpu(&later, 2)));
	CHECK(!state_before(&view, proc_cpu(&later, 3)));
	view.before = &other;
	CHECK(state_before(&view, proc_cpu(&later, 1)) == proc_cpu(&quiet, 1));
	view.before = NULL;
	CHECK(!state_before(&view, proc_cpu(&later, 1)) && !(state_seconds(&view) > 0));
}

static void longest(void)
{
	CHECK_TEXT(state_longest(proc_cpu(&busy, 1))->comm, "Web Content (2)");
	CHECK(!state_longest(proc_cpu(&quiet, 1)));
}

static const struct test tests[] = {
	{ "status", status },
	{ "stats", stats },
	{ "senders", senders },
	{ "deliveries", deliveries },
	{ "the order of senders", ranks },
	{ "senders in words", words },
	{ "senders of a span", spans },
	{ "rates", rates },
	{ "the longest wait", longest },
};

/* Runs where the fixtures are laid out. */
int main(void)
{
	int code;

	if (proc_read("busy", true, &busy) || proc_read("busy-later", true, &later) ||
	    proc_read("quiet", true, &quiet) || proc_read("manual", false, &manual)) {
		printf("Bail out! no fixtures\n");
		return 1;
	}
	code = check_run(tests, ARRAY_SIZE(tests));
	proc_free(&busy);
	proc_free(&later);
	proc_free(&quiet);
	proc_free(&manual);
	return code;
}
