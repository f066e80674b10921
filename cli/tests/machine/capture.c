// SPDX-License-Identifier: GPL-2.0-or-later
/* What a capture tells of its files. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "check.h"
#include "machine/capture.h"

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

/* Links that lead back would be directories without end. */
static void directories(void)
{
	char dir[] = "/tmp/isolator-capture-XXXXXX", **names;
	struct capture capture;
	size_t count;
	int fd;

	CHECK(mkdtemp(dir));
	fd = open(dir, O_RDONLY | O_DIRECTORY);
	CHECK(!mkdirat(fd, "a", 0700) && !mkdirat(fd, "a/b", 0700));
	CHECK(!symlinkat(".", fd, "a/c") && !symlinkat("b", fd, "a/d"));
	CHECK(!mknodat(fd, "a/b/file", S_IFREG | 0600, 0));
	CHECK(!capture_open(&capture, dir));
	/* A file that was read through a link does not make a directory of it. */
	CHECK(!capture_read(&capture, "/a/c/b/file")->error);
	names = capture_directories(&capture, "/a", &count);
	CHECK(count == 1 && !strcmp(names[0], "b"));
	capture_names_free(names, count);
	check_names(&capture, "/a", " b c d");
	capture_free(&capture);
	CHECK(!unlinkat(fd, "a/b/file", 0) && !unlinkat(fd, "a/c", 0) && !unlinkat(fd, "a/d", 0));
	CHECK(!unlinkat(fd, "a/b", AT_REMOVEDIR) && !unlinkat(fd, "a", AT_REMOVEDIR));
	CHECK(!close(fd) && !rmdir(dir));

	capture = (struct capture){ .root = "a.tar", .kind = CAPTURE_BUNDLE };
	add(&capture, "/d/file");
	add(&capture, "/d/b/c");
	names = capture_directories(&capture, "/d", &count);
	CHECK(count == 1 && !strcmp(names[0], "b"));
	capture_names_free(names, count);
	capture_free(&capture);
}

int main(void)
{
	static const struct test tests[] = {
		{ "names in a directory of a bundle", names },
		{ "directories without links", directories },
	};

	return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
