// SPDX-License-Identifier: GPL-2.0-or-later
/* The text of metrics, in both formats. */
#include <stdlib.h>

#include "base/array.h"
#include "base/exposition.h"
#include "base/text.h"
#include "check.h"

static char *written;
static size_t size;
static struct exposition to;

static void begin(enum exposition_format format)
{
	free(written);
	to = (struct exposition){ .out = text_open(&written, &size), .format = format };
}

static const char *end(void)
{
	exposition_end(&to);
	fclose(to.out);
	return written;
}

/* One of each type that has a sample without more. */
static void put_all(void)
{
	exposition_family(&to, EXPOSITION_GAUGE, "seconds", "How long.", "a_%s", "seconds");
	exposition_sample(&to);
	exposition_ns(&to, 1);
	exposition_family(&to, EXPOSITION_COUNTER, NULL, "How many.", "b");
	exposition_sample(&to);
	exposition_label_number(&to, "cpu", 3);
	exposition_number(&to, UINT64_MAX);
	exposition_sample(&to);
	exposition_label_number(&to, "cpu", 4);
	exposition_number(&to, 0);
	exposition_family(&to, EXPOSITION_INFO, NULL, "Which.", "c");
	exposition_sample(&to);
	exposition_label(&to, "x", "1");
	exposition_label(&to, "y", "");
	exposition_number(&to, 1);
}

static void openmetrics(void)
{
	begin(EXPOSITION_OPENMETRICS);
	put_all();
	CHECK_TEXT(end(),
		   "# TYPE a_seconds gauge\n# UNIT a_seconds seconds\n# HELP a_seconds How long.\n"
		   "a_seconds 0.000000001\n"
		   "# TYPE b counter\n# HELP b How many.\n"
		   "b_total{cpu=\"3\"} 18446744073709551615\nb_total{cpu=\"4\"} 0\n"
		   "# TYPE c info\n# HELP c Which.\nc_info{x=\"1\",y=\"\"} 1\n"
		   "# EOF\n");
}

/* Its types are of the samples' names, and it has neither units nor infos nor an end. */
static void prometheus(void)
{
	begin(EXPOSITION_PROMETHEUS);
	put_all();
	CHECK_TEXT(end(),
		   "# TYPE a_seconds gauge\n# HELP a_seconds How long.\na_seconds 0.000000001\n"
		   "# TYPE b_total counter\n# HELP b_total How many.\n"
		   "b_total{cpu=\"3\"} 18446744073709551615\nb_total{cpu=\"4\"} 0\n"
		   "# TYPE c_info gauge\n# HELP c_info Which.\nc_info{x=\"1\",y=\"\"} 1\n");
}

static void histogram(void)
{
	begin(EXPOSITION_OPENMETRICS);
	exposition_family(&to, EXPOSITION_HISTOGRAM, "seconds", "All.", "h_seconds");
	exposition_part(&to, "_bucket");
	exposition_label_ns(&to, "le", 1500000000);
	exposition_number(&to, 2);
	exposition_part(&to, "_bucket");
	exposition_label_ns(&to, "le", UINT64_MAX);
	exposition_number(&to, 3);
	exposition_part(&to, "_sum");
	exposition_seconds(&to, 0.25);
	CHECK_TEXT(end(),
		   "# TYPE h_seconds histogram\n# UNIT h_seconds seconds\n# HELP h_seconds All.\n"
		   "h_seconds_bucket{le=\"1.500000000\"} 2\nh_seconds_bucket{le=\"+Inf\"} 3\n"
		   "h_seconds_sum 0.250000000\n# EOF\n");
}

/* Without a sample nothing is said of a family; of the next one it is. */
static void empty(void)
{
	begin(EXPOSITION_PROMETHEUS);
	CHECK_TEXT(end(), "");
	begin(EXPOSITION_OPENMETRICS);
	exposition_family(&to, EXPOSITION_GAUGE, NULL, "None.", "none");
	exposition_family(&to, EXPOSITION_GAUGE, NULL, "Some.", "some");
	exposition_sample(&to);
	exposition_ns_at(&to, UINT64_MAX, 1700000000000000007);
	CHECK_TEXT(end(), "# TYPE some gauge\n# HELP some Some.\n"
		   "some +Inf 1700000000.000000007\n# EOF\n");
}

/* Whatever a name is, it ends where its quotes end. */
static void names(void)
{
	static const struct {
		const char *name, *label;
	} of[] = {
		{ "a\"} 1\n# EOF", "a\\\"} 1\\\\012# EOF" },
		{ "back\\slash", "back\\\\slash" },
		{ "\\", "\\\\" },
		{ "tab\t\033[2J\x7f", "tab\\\\011\\\\033[2J\\\\177" },
		{ "pr\xc3\xbc" "f", "pr\xc3\xbc" "f" },
		{ "\xc2\x85", "\\\\302\\\\205" },		/* U+0085 */
		{ "\xff\xc3", "\\\\377\\\\303" },
		{ "\xed\xa0\x80", "\\\\355\\\\240\\\\200" },	/* half of a pair */
	};

	for (size_t i = 0; i < ARRAY_SIZE(of); i++) {
		char *want = text_format("# TYPE n gauge\n# HELP n Names.\nn{of=\"%s\"} 1\n",
					 of[i].label);

		begin(EXPOSITION_PROMETHEUS);
		exposition_family(&to, EXPOSITION_GAUGE, NULL, "Names.", "n");
		exposition_sample(&to);
		exposition_label(&to, "of", of[i].name);
		exposition_number(&to, 1);
		CHECK_TEXT(end(), want);
		free(want);
	}
}

static const struct test tests[] = {
	{ "OpenMetrics", openmetrics },
	{ "the format of Prometheus", prometheus },
	{ "a histogram", histogram },
	{ "a family without a sample", empty },
	{ "names", names },
};

int main(void)
{
	int code = check_run(tests, ARRAY_SIZE(tests));

	free(written);
	return code;
}
