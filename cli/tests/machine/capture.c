// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a capture tells of its files, and with how little work: linked with --wrap=strcmp
 * and --wrap=strncmp, by which comparisons are counted.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "audit/audit.h"
#include "base/text.h"
#include "check.h"
#include "machine/capture.h"

#define FILES 4096
#define MOST (100 * FILES)	/* comparisons; each file with each other one are 16 million */

static unsigned long compared;

int __wrap_strcmp(const char *a, const char *b);
int __real_strcmp(const char *a, const char *b);
int __wrap_strncmp(const char *a, const char *b, size_t size);
int __real_strncmp(const char *a, const char *b, size_t size);

int __wrap_strcmp(const char *a, const char *b)
{
	compared++;
	return __real_strcmp(a, b);
}

int __wrap_strncmp(const char *a, const char *b, size_t size)
{
	compared++;
	return __real_strncmp(a, b, size);
}

static void add(struct capture *capture, const char *path)
{
	capture_fill(capture_add(capture, path), text_format("x\n"), 2);
}

/* The names in @path with a blank before each, to be freed. */
static char *names_in(struct capture *capture, const char *path)
{
	size_t count, size;
	char **names = capture_names(capture, path, &count), *text;
	FILE *out = text_open(&text, &size);

	for (size_t i = 0; i < count; i++)
		fprintf(out, " %s", names[i]);
	fclose(out);
	capture_names_free(names, count);
	return text;
}

static size_t count_in(struct capture *capture, const char *path)
{
	size_t count;
	char **names = capture_names(capture, path, &count);

	capture_names_free(names, count);
	return count;
}

static void check_names(struct capture *capture, const char *path, const char *want)
{
	char *have = names_in(capture, path);

	CHECK_TEXT(have, want);
	free(have);
}

/* Whatever bytes stand before and after the slash where paths are compared. */
static void names(void)
{
	static const char *const paths[] = {
		"/d/a/b", "/d/a-b", "/d/a", "/d/a.c/x", "/d/a/b/c/d", "/d/a0", "/d/a/b0", "/d0/no",
		"/d", "/d/a/z/y", "/d/\xc3\xa9/x", "/d/a1/x", "/d/a10/x", "/d/a2/x", "/c/no",
	};
	struct capture capture = { .root = "a.tar", .kind = CAPTURE_BUNDLE };

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		add(&capture, paths[i]);
	/* Looked for, and not there. */
	capture_read(&capture, "/d/a/b/no");
	capture_read(&capture, "/d/no/no/no");
	capture_read(&capture, "/d/no");
	check_names(&capture, "/d", " a a-b a.c a0 a1 a2 a10 \xc3\xa9");
	check_names(&capture, "/d/a", " b b0 z");
	check_names(&capture, "/d/a/b", " c");
	check_names(&capture, "/d/a/b/c/d", "");
	check_names(&capture, "/d/no", "");
	check_names(&capture, "/e", "");
	/* One that was not there is not all that can stand below its name. */
	add(&capture, "/d/no/yes");
	check_names(&capture, "/d/no", " yes");
	capture_free(&capture);
}

/* As of a machine with very many devices. */
static void names_of_many(void)
{
	struct capture capture = { .root = "a.tar", .kind = CAPTURE_BUNDLE };

	for (int i = 0; i < FILES; i++) {
		char *path = text_format("/sys/class/net/d%d/queues/rx-0/rps_cpus", i);

		add(&capture, path);
		free(path);
	}
	compared = 0;
	CHECK(count_in(&capture, "/sys/class/net") == FILES);
	for (int i = 0; i < FILES; i++) {
		char *path = text_format("/sys/class/net/d%d/queues", i);

		CHECK(count_in(&capture, path) == 1);
		free(path);
	}
	CHECK(compared < MOST);
	capture_free(&capture);
}

/* As of a bundle whose files hold something else. */
static void many_unread(void)
{
	struct audit audit = { 0 };

	compared = 0;
	for (int twice = 0; twice < 2; twice++)
		for (int i = 0; i < FILES; i++) {
			char *path = text_format("/sys/class/net/d%d/queues/rx-0/rps_cpus", i);

			audit_unread(&audit, path, "no");
			free(path);
		}
	CHECK(audit.count == FILES && audit.unread == 2 * FILES && compared < MOST);
	audit_free(&audit);
}

int main(void)
{
	static const struct test tests[] = {
		{ "names in a directory of a bundle", names },
		{ "names of a bundle with very many files", names_of_many },
		{ "very many files that cannot be read", many_unread },
	};

	return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
