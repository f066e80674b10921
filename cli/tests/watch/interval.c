// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What isolator watch shows of two looks, linked with --wrap=main:
 *	interval SECONDS BEFORE NOW [WORD...]
 * BEFORE and NOW are the roots of captures.  A word is json, all, c=CPUS, limit=N, top=N, or
 * screen=ROWSxCOLUMNS, and then the keys that are typed there: down, up, softirqs, classes,
 * cpus.  The exit code is 10 and the verdict on the limit.  The looks of the command itself
 * are a time apart that no test can know.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "watch/watch.h"

int __wrap_main(int argc, char **argv);

static struct watch_options options = { .limit = WATCH_NO_LIMIT, .top = 20 };

static void obey(const char *word, struct watch_view *view)
{
	if (!strcmp(word, "down"))
		watch_move(view, 1);
	else if (!strcmp(word, "up"))
		watch_move(view, -1);
	else if (!strcmp(word, "softirqs"))
		view->page = WATCH_SOFTIRQS;
	else if (!strcmp(word, "classes"))
		view->page = WATCH_CLASSES;
	else if (!strcmp(word, "cpus"))
		view->page = WATCH_CPUS;
}

int __wrap_main(int argc, char **argv)
{
	static const struct cpulist all = { 0 };
	struct look before, now;
	struct interval interval;
	struct watch_view view = { .interval = &interval };
	unsigned int rows = 0, columns = 0;
	bool json = false;
	int code;

	if (argc < 4)
		return 1;
	look_take(&before, argv[2], &all);
	look_take(&now, argv[3], &all);
	for (int i = 4; i < argc; i++) {
		json |= !strcmp(argv[i], "json");
		options.all |= !strcmp(argv[i], "all");
		if (!strncmp(argv[i], "c=", 2) && !cpulist_parse(argv[i] + 2, &options.cpus))
			return 1;
		sscanf(argv[i], "limit=%u", &options.limit);
		sscanf(argv[i], "top=%u", &options.top);
		sscanf(argv[i], "screen=%ux%u", &rows, &columns);
	}
	options.root = argv[3];
	if (interval_make(&interval, &options, &before, &now, strtod(argv[1], NULL)))
		return 1;
	for (int i = 4; i < argc; i++)
		obey(argv[i], &view);
	if (json)
		watch_json(stdout, &interval);
	else if (rows)
		watch_screen(stdout, &view, rows, columns);
	else
		watch_text(stdout, &view);
	code = (int)interval_verdict(&interval);
	free(view.selected);
	interval_free(&interval);
	look_free(&before);
	look_free(&now);
	return code + 10;
}
