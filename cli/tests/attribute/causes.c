// SPDX-License-Identifier: GPL-2.0-or-later
/* Causes: what is kept is bounded, and stolen time is claimed once. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attribute/below.h"
#include "attribute/cause.h"
#include "attribute/names.h"
#include "attribute/tracefs.h"
#include "base/array.h"
#include "base/file.h"
#include "base/text.h"
#include "check.h"

static struct names names;

static void totals(void)
{
	static struct ranking ranking;
	struct finding finding = { .count = 1 };
	uint64_t sum = 0, count = 0;
	char who[16];

	ranking_open(&ranking, 10);
	for (unsigned int i = 0; i < 5000; i++) {
		snprintf(who, sizeof(who), "thread%u", i);
		finding.outlier.value_ns = i;
		finding.outlier.trigger = i;
		finding.causes[0] = (struct cause){ CAUSE_PREEMPTION, names_keep(&names, who), -1,
						    NULL, -1, i + 1, { NULL }, 0 };
		ranking_add(&ranking, &finding);
	}
	ranking_sort(&ranking);
	/* What no longer fits is told together, and nothing is lost of the sums. */
	CHECK(ranking.count <= CAUSES_RANKED);
	CHECK_TEXT(ranking.totals[0].who, NAMES_OTHERS);
	for (size_t i = 0; i < ranking.count; i++) {
		sum += ranking.totals[i].total_ns;
		count += ranking.totals[i].count;
	}
	CHECK(sum == UINT64_C(5000) * 5001 / 2 && count == 5000);
	/* The worst, exactly, and in order. */
	CHECK(ranking.nr_findings == 10);
	for (size_t i = 0; i < ranking.nr_findings; i++)
		CHECK(ranking.findings[i]->outlier.trigger == 4999 - i);
	ranking_close(&ranking);
}

static void of_one(void)
{
	static struct finding finding;
	struct cause cause = { .kind = CAUSE_IPI, .pid = -1, .sender_cpu = 0, .ns = 5 };

	for (int i = 0; i < CAUSES_EACH; i++) {
		cause.sender_cpu = i;
		cause.ns = 10 + (uint64_t)i;
		finding_add(&finding, &cause);
	}
	cause.sender_cpu = 2;
	finding_add(&finding, &cause);
	CHECK(finding.count == CAUSES_EACH && finding.causes[2].ns == 12 + 25);
	/* A larger one takes the place of the least, a smaller one does not. */
	cause.sender_cpu = 99;
	cause.ns = 11;
	finding_add(&finding, &cause);
	cause.sender_cpu = 98;
	cause.ns = 1;
	finding_add(&finding, &cause);
	finding_sort(&finding);
	CHECK(finding.causes[0].sender_cpu == 2);
	CHECK(finding.causes[CAUSES_EACH - 1].ns == 11);
	for (size_t i = 0; i < finding.count; i++)
		CHECK(finding.causes[i].sender_cpu != 98 && finding.causes[i].sender_cpu != 0);
}

static enum cause_kind kind_of(const char *name)
{
	enum cause_kind kind = 0;

	while (kind < CAUSE_UNKNOWN && strcmp(cause_names[kind], name))
		kind++;
	return kind;
}

/* Are these lines in their order, whatever order they had before? */
static void rank_lines(char **lines, size_t count)
{
	static struct ranking ranking;
	static struct names few;

	for (size_t first = 0; first < count; first++) {
		ranking.count = 0;
		/* Turned, and each second time from behind. */
		for (size_t i = 0; i < count; i++) {
			char ns[24], kind[24], who[24];
			size_t at = (first + (first % 2 ? count - i : i)) % count;

			CHECK(sscanf(lines[at], "%23[^\t]\t%23[^\t]\t%23s", ns, kind, who) == 3);
			ranking.totals[ranking.count++] = (struct cause_total){
				.kind = kind_of(kind),
				.who = strcmp(who, "-") ? names_keep(&few, who) : NULL,
				.total_ns = strtoull(ns, NULL, 10),
			};
		}
		ranking_sort(&ranking);
		for (size_t i = 0; i < count; i++) {
			const struct cause_total *one = &ranking.totals[i];
			char *line = text_format("%" PRIu64 "\t%s\t%s", one->total_ns,
						 cause_names[one->kind], one->who ? one->who : "-");

			CHECK_TEXT(line, lines[i]);
			free(line);
		}
	}
}

/* As isolator-report ranks them, whose tests read the same file. */
static void ranks(void)
{
	char *lines[16], *line, *text, *rest;
	size_t size, count = 0, lists = 0;

	text = rest = file_read(CAUSES_RANKED_FILE, &size);
	while (text && (line = strsep(&rest, "\n"))) {
		if (*line && *line != '#' && count < ARRAY_SIZE(lines))
			lines[count++] = line;
		if (*line || !count)
			continue;
		rank_lines(lines, count);
		lists++;
		count = 0;
	}
	CHECK(lists == 4);
	free(text);
}

static void tasks(void)
{
	char who[16];

	names_close(&names);
	names_open(&names, NULL, NULL, -1);

	for (int i = 1; i < 20000; i++) {
		snprintf(who, sizeof(who), "t%d", i);
		names_task_seen(&names, i, who);
	}
	CHECK_TEXT(names_task(&names, 0), "idle");
	/* Two that share a place are both remembered; an exec is seen. */
	names_task_seen(&names, 1, "one");
	names_task_seen(&names, 1 + NAMES_TASKS / 2, "two");
	CHECK_TEXT(names_task(&names, 1), "one");
	CHECK_TEXT(names_task(&names, 1 + NAMES_TASKS / 2), "two");
	names_task_seen(&names, 1, "three");
	CHECK_TEXT(names_task(&names, 1), "three");
	/* Tasks that nobody asks for take no room. */
	CHECK(names.pooled == 3);
}

static void symbols(void)
{
	struct names with;
	char *text = strdup("0000000000002000 t second\n0000000000001000 T first\n"
			    "0000000000003000 d data\n0000000000004000 t in\t[module]\nrubbish\n\n"
			    "0000000000000000 T hidden\n");

	names_open(&with, text, strdup("0x10 : \"a reason\"\nrubbish\n0x20 : \"\n"), -1);
	CHECK(with.nr_symbols == 3);
	CHECK_TEXT(names_function(&with, 0x1fff), "first");
	CHECK_TEXT(names_function(&with, 0x2000), "second");
	CHECK_TEXT(names_function(&with, 0x4010), "in");
	CHECK(!names_function(&with, 0xfff) && !names_function(&with, 0x4000 + (1 << 21)));
	CHECK_TEXT(names_reason(&with, 0x10), "a reason");
	CHECK(!names_reason(&with, 0x20));
	names_close(&with);
}

static void set_steal(unsigned int ticks)
{
	FILE *file = fopen("below/proc/stat", "w");

	CHECK(file);
	if (!file)
		return;
	fprintf(file, "cpu  1 2 3 4 5 6 7 999 9 10\ncpu1 1 2 3 4 5 6 7 %u 9 10\n", ticks);
	fclose(file);
}

static void steal(void)
{
	static const int cpus[] = { 1 };
	struct below below;
	uint64_t tick;

	mkdir("below", 0700);
	mkdir("below/proc", 0700);
	set_steal(50);
	below_open(&below, "below", cpus, 1);
	tick = below.tick_ns;
	/* What was stolen before does not count. */
	CHECK(!below_stolen(&below, 1, 100));
	set_steal(53);
	below_read(&below);
	CHECK(!below_stolen(&below, 0, 100) && !below_stolen(&below, 1, 5 * tick));
	CHECK(below_stolen(&below, 1, 2 * tick));
	/* One tick is left, and that is what it is known to. */
	CHECK(!below_stolen(&below, 1, 3 * tick));
	CHECK(below_stolen(&below, 1, 2 * tick));
	CHECK(!below_stolen(&below, 1, 100));
	CHECK(!below_idle(&below, 1, 0));
	below_close(&below);
	unlink("below/proc/stat");
	rmdir("below/proc");
	rmdir("below");
}

/* Whatever format is given, nothing outside of it is read. */
static void formats(void)
{
	static const char *const bad[] = {
		"", "ID: 5\n", "name: x\nID: 0\n\tfield:int a;\toffset:0;\tsize:4;\n",
		"ID: 70000\n\tfield:int a;\toffset:0;\tsize:4;\n",
		"ID: 5\n\tfield:int a\toffset:0;\tsize:4;\n", "ID: 5\n\tfield:int a;\tsize:4;\n",
		"ID: 5\n\tfield:int a;\toffset:99999999;\tsize:4;\n",
		"ID: 5\n\tfield:]];\toffset:0;\tsize:4;\n",
	};
	struct trace_format format;
	struct trace_layout layout;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		CHECK(!trace_format_parse(bad[i], &format));
	CHECK(trace_format_parse("ID: 5\nformat:\n\tfield:char x[16];\toffset:8;\tsize:16;\tsigned:1;\n",
				 &format));
	CHECK(format.count == 1 && format.fields[0].offset == 8 && format.fields[0].size == 16);
	CHECK_TEXT(format.fields[0].name, "x");
	CHECK(!trace_layout_parse("\tfield: u64 timestamp;\toffset:0;\tsize:8;\n", &layout));
}

/* How many events were missed is a long of the traced kernel, and other bytes stand behind it. */
static void missed(void)
{
	static const uint32_t sizes[] = { 4, 8 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		const uint32_t begin = 8 + sizes[i];
		unsigned char bytes[128];
		uint32_t commit = UINT32_C(3) << 30 | 8;	/* events were missed, and how many */
		struct trace_layout layout;
		struct trace_page page;
		uint64_t count = 7;
		char *text;

		if (asprintf(&text, "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
			     "\tfield: local_t commit;\toffset:8;\tsize:%u;\tsigned:1;\n"
			     "\tfield: char data;\toffset:%u;\tsize:%zu;\tsigned:0;\n",
			     sizes[i], begin, sizeof(bytes) - begin) < 0)
			abort();
		CHECK(trace_layout_parse(text, &layout));
		free(text);
		memset(bytes, 0xff, sizeof(bytes));
		memset(bytes, 0, begin);
		memcpy(bytes + 8, &commit, sizeof(commit));
		memcpy(bytes + begin + 8, &count, sizes[i]);
		CHECK(trace_page_open(&page, bytes, sizeof(bytes), &layout));
		CHECK(page.missed == 7 && page.end == bytes + begin + 8);
		/* Cut off before it: that some were missed is all that is known. */
		CHECK(trace_page_open(&page, bytes, begin + 8 + sizes[i] - 1, &layout));
		CHECK(page.missed == TRACE_MISSED_SOME);
	}
}

/* Whatever a recording declares: a thread's number is a number, and not what stands elsewhere. */
static void pids(void)
{
	static const char *const bad[] = {
		"__data_loc int common_pid;\toffset:4;\tsize:4;\tsigned:1;",
		"int common_pid;\toffset:4;\tsize:8;\tsigned:1;",
		"int common_pid;\toffset:4;\tsize:2000;\tsigned:1;",
		"int pid;\toffset:4;\tsize:4;\tsigned:1;",
	};
	static struct trace_readers readers;
	struct trace_format format;
	unsigned char bytes[2000];
	struct trace_record record = { .data = bytes, .size = sizeof(bytes) };
	struct trace_event event;
	const struct trace_kind *kind = NULL;

	for (size_t i = 0; i < trace_kinds_count; i++)
		if (!strcmp(trace_kinds[i].name, "irq_handler_exit"))
			kind = &trace_kinds[i];
	CHECK(kind);
	memset(bytes, 'A', sizeof(bytes));
	memcpy(bytes, (uint16_t[]){ 5, 0, 16, 1900 }, 4 * sizeof(uint16_t));
	for (size_t i = 0; kind && i <= ARRAY_SIZE(bad); i++) {
		char *text;

		if (asprintf(&text, "ID: 5\n\tfield:%s\n\tfield:int irq;\toffset:8;\tsize:4;\tsigned:1;\n",
			     i < ARRAY_SIZE(bad) ? bad[i] :
			     "int common_pid;\toffset:4;\tsize:4;\tsigned:1;") < 0)
			abort();
		CHECK(trace_format_parse(text, &format));
		CHECK(trace_readers_add(&readers, kind, &format) == (i == ARRAY_SIZE(bad)));
		CHECK(trace_event_read(&readers, UINT64_MAX, &record, &event) ==
		      (i == ARRAY_SIZE(bad)));
		free(text);
	}
	CHECK(event.pid == (1900 << 16 | 16) && event.n[0] == 0x41414141);
	trace_readers_free(&readers);
}

static const struct test tests[] = {
	{ "a night of ever new causes", totals },
	{ "the causes of one outlier", of_one },
	{ "the order of causes", ranks },
	{ "names of tasks", tasks },
	{ "names of functions", symbols },
	{ "stolen time", steal },
	{ "formats that are none", formats },
	{ "how many events were missed", missed },
	{ "numbers of threads that are none", pids },
};

int main(void)
{
	int code;

	names_open(&names, NULL, NULL, -1);
	code = check_run(tests, ARRAY_SIZE(tests));
	names_close(&names);
	return code;
}
