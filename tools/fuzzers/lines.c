// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Short texts, the first byte says which: lists and masks of CPUs, tables of interrupts, lines
 * of the kernel's tracers, kinds of boards.
 */
#include "measure/tracer_line.h"
#include "base/cpulist.h"
#include "machine/interrupts.h"
#include "machine/machine.h"
#include "base/text.h"
#include "harness.h"

static void lists(const char *text)
{
	struct cpulist list, back;
	char *shown;

	if (cpulist_read(text, &list)) {
		shown = cpulist_text(&list);
		if (!cpulist_read(shown, &back) || !cpulist_same(&list, &back))
			abort();
		free(shown);
	}
	if (cpulist_parse_mask(text, &list)) {
		shown = cpulist_mask(&list);
		if (!cpulist_parse_mask(shown, &back) || !cpulist_same(&list, &back))
			abort();
		free(shown);
	}
}

static void tables(char *text)
{
	const struct cpulist all = { 0 };
	struct interrupts now = { 0 }, before = { 0 }, came;
	char *copy = harness_text((const uint8_t *)text, strlen(text));

	now.known = interrupts_parse(&now, text, &all);
	before.known = interrupts_parse(&before, copy, &all);
	if (now.known && before.known) {
		interrupts_between(&came, &before, &now, INTERRUPTS_MOST);
		if (interrupts_sum(&came))
			abort();
		interrupts_free(&came);
	}
	if (now.known)
		interrupts_free(&now);
	if (before.known)
		interrupts_free(&before);
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (!size)
		return -1;
	text = harness_text(data + 1, size - 1);
	switch (*data % 4) {
	case 0:
		lists(text);
		break;
	case 1:
		tables(text);
		break;
	case 2:
		tracer_line(text);
		break;
	case 3:
		machine_is_virtual_vendor(text);
		machine_is_virtual_board(text);
		break;
	}
	free(text);
	return 0;
}
