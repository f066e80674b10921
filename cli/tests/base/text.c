// SPDX-License-Identifier: GPL-2.0-or-later
/* What writes and reads small texts: lists of CPUs, JSON, units, screens, UTF-8. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cpulist.h"
#include "base/file.h"
#include "base/json.h"
#include "base/root.h"
#include "base/term.h"
#include "base/text.h"
#include "check.h"

static char *written;
static size_t written_size;

static FILE *begin(void)
{
	free(written);
	written = NULL;
	return open_memstream(&written, &written_size);
}

/* What was written to @out, good until the next begin(). */
static const char *end(FILE *out)
{
	fclose(out);
	return written;
}

/* What is replaced is replaced whole, whatever lies where the new text is written first. */
static void replaced(void)
{
	char dir[] = "/tmp/isolator-text-XXXXXX", text[16] = "";
	char *path, *beside, *victim;
	struct stat kept;
	FILE *file;

	CHECK(mkdtemp(dir));
	path = text_format("%s/out", dir);
	beside = text_format("%s/out.new", dir);
	victim = text_format("%s/victim", dir);
	CHECK(!mkfifo(beside, 0600));
	alarm(240);	/* nobody reads it */
	CHECK(!file_replace(path, "one", 3));
	alarm(0);
	file = fopen(victim, "w");
	CHECK(file && !fclose(file) && !symlink(victim, beside));
	CHECK(!file_replace(path, "two", 3));
	file = fopen(path, "r");
	CHECK(file && fread(text, 1, sizeof(text) - 1, file) == 3 && !strcmp(text, "two"));
	CHECK(file && !fclose(file));
	CHECK(!stat(victim, &kept) && !kept.st_size && access(beside, F_OK));
	CHECK(!unlink(path) && !unlink(victim) && !rmdir(dir));
	free(path);
	free(beside);
	free(victim);
}

/* What the file "name" below @root holds; "": it cannot be read. */
static const char *below(const char *root)
{
	static char text[16];
	size_t size;
	char *whole = root_read(root, "/name", &size);

	snprintf(text, sizeof(text), "%s", whole ? whole : "");
	free(whole);
	return text;
}

/* A root that was trusted is the same directory from then on. */
static void roots(void)
{
	static const char *const names[] = { "one", "two" };
	char dir[] = "/tmp/isolator-text-XXXXXX";
	char *root, *later;

	CHECK(mkdtemp(dir));
	root = text_format("%s/root", dir);
	later = text_format("%s/later", dir);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char *path = text_format("%s/%s", dir, names[i]);
		char *file = text_format("%s/name", path);

		CHECK(!mkdir(path, 0700) && !file_replace(file, names[i], 3));
		free(file);
		free(path);
	}
	CHECK(!symlink("one", root) && root_trusted(root));
	CHECK(!unlink(root) && !symlink("two", root));
	CHECK_TEXT(below(root), "one");
	/* What could not be looked at is not there later either. */
	CHECK_TEXT(below(later), "");
	CHECK(root_trusted(later) && !symlink("two", later));
	CHECK_TEXT(below(later), "");
	CHECK_TEXT(below(root), "two");
	CHECK(root_trusted(later));
	CHECK_TEXT(below(later), "");
	CHECK(root_trusted("/"));
	CHECK(!unlink(root) && !unlink(later));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char *path = text_format("%s/%s", dir, names[i]);
		char *file = text_format("%s/name", path);

		CHECK(!unlink(file) && !rmdir(path));
		free(file);
		free(path);
	}
	CHECK(!rmdir(dir));
	free(root);
	free(later);
}

static void cpulists(void)
{
	static const char *const bad[] = {
		"", ",", "1,", ",1", "1-", "-1", "3-1", "1--2", "x", "1 2", " 1", "+1", "8192",
		"99999999999999999999", "1-3x", "0x1",
	};
	struct cpulist list = { 0 };

	CHECK(cpulist_has(&list, 5));
	CHECK(cpulist_parse("0,3-5,8191", &list));
	for (int cpu = -1; cpu < CPULIST_MAX + 1; cpu++)
		CHECK(cpulist_has(&list, cpu) ==
		      (cpu == 0 || (cpu >= 3 && cpu <= 5) || cpu == 8191));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		bool parsed = cpulist_parse(bad[i], &list);

		if (parsed)
			printf("# \"%s\" is taken for a list\n", bad[i]);
		CHECK(!parsed);
	}
	CHECK(cpulist_has(&list, 3));
}

static bool cpulist_is(const struct cpulist *list, const char *text)
{
	struct cpulist other;

	return list->given && cpulist_parse(text, &other) && cpulist_same(list, &other);
}

static void cpulist_unions(void)
{
	struct cpulist list = { 0 }, none = { .given = true }, more;

	CHECK(cpulist_parse("1,63-64,8191", &more));
	cpulist_union(&list, &none);
	CHECK(!list.given && !cpulist_count(&list));
	cpulist_union(&list, &more);
	CHECK(cpulist_is(&list, "1,63-64,8191") && cpulist_count(&list) == 4);
	CHECK(cpulist_parse("0-1,64-65", &list));
	cpulist_union(&list, &more);
	CHECK(cpulist_is(&list, "0-1,63-65,8191") && cpulist_count(&list) == 6);
	CHECK(cpulist_is(&more, "1,63-64,8191"));
	cpulist_union(&list, &none);
	CHECK(cpulist_count(&list) == 6);
}

static const char *quoted(const char *text)
{
	FILE *out = begin();
	struct json json = { .out = out };

	json_string(&json, NULL, text);
	return end(out);
}

static void json_strings(void)
{
	CHECK_TEXT(quoted("a \"b\" \\c/"), "\"a \\\"b\\\" \\\\c/\"");
	CHECK_TEXT(quoted("\t\n\033\x7f"), "\"\\u0009\\u000a\\u001b\\u007f\"");
	/* U+0080 to U+009F steer a terminal as well: the last but one begins a sequence. */
	CHECK_TEXT(quoted("\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0"), "\"\\u0080\\u009b\\u009f\xc2\xa0\"");
	CHECK_TEXT(quoted("\xe2\x80\xae\xe2\x81\xa9"), "\"\\u202e\\u2069\"");
	CHECK_TEXT(quoted("pr\xc3\xbc" "f \xe2\x82\xac \xf0\x9f\x99\x82"),
		   "\"pr\xc3\xbc" "f \xe2\x82\xac \xf0\x9f\x99\x82\"");
	CHECK_TEXT(quoted("cut \xe2\x82"), "\"cut \\ufffd\\ufffd\"");
	CHECK_TEXT(quoted("\xff"), "\"\\ufffd\"");
	CHECK_TEXT(quoted("\xc0\x80"), "\"\\ufffd\\ufffd\"");
	CHECK_TEXT(quoted("\xed\xa0\x80"), "\"\\ufffd\\ufffd\\ufffd\"");
	CHECK_TEXT(quoted(NULL), "null");
}

static void json_values(void)
{
	FILE *out = begin();
	struct json json = { .out = out };

	json_open(&json, NULL, '{');
	json_open(&json, "empty", '[');
	json_close(&json, ']');
	json_open(&json, "list", '[');
	json_number(&json, NULL, UINT64_MAX);
	json_integer(&json, NULL, INT64_MIN);
	json_open(&json, NULL, '{');
	json_close(&json, '}');
	json_close(&json, ']');
	json_real(&json, "real", 1.0 / 3);
	json_real(&json, "infinite", 1.0 / 0.0);
	json_bool(&json, "yes", true);
	json_null(&json, "nothing");
	json_number_if(&json, "some", true, 7);
	json_number_if(&json, "none", false, 7);
	json_close(&json, '}');
	CHECK_TEXT(end(out),
		   "{\"empty\":[],\"list\":[18446744073709551615,-9223372036854775808,{}],"
		   "\"real\":0.333,\"infinite\":null,\"yes\":true,\"nothing\":null,"
		   "\"some\":7,\"none\":null}");
}

static void times(void)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} cases[] = {
		{ 0, "0 ns" }, { 999, "999 ns" }, { 1000, "1 us" }, { 1234, "1.23 us" },
		{ 999499, "999 us" }, { 999500, "1 ms" }, { 100000000, "100 ms" },
		{ 1200000000, "1.2 s" }, { UINT64_C(3600000000000), "3600 s" },
		{ UINT64_MAX, "18446744074 s" },
	};
	char text[TERM_TIME];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		CHECK_TEXT(term_time(text, cases[i].ns), cases[i].text);
}

static void strangers(void)
{
	char text[] = "a\033[2Jb\x7f\xc2\x9b" "c\xff pr\xc3\xbc" "f";
	char turned[] = "a\xe2\x80\xae" "b\xe2\x81\xa6" "c\xe2\x81\xa9" "d\xe2\x80\xa6";
	FILE *out = begin();

	term_put(out, text);
	CHECK_TEXT(end(out), "a?[2Jb??c? pr\xc3\xbc" "f");
	term_clean(text);
	CHECK_TEXT(text, "a?[2Jb??c? pr\xc3\xbc" "f");
	/* Of two bidirectional overrides and an end; dots stay. */
	term_clean(turned);
	CHECK_TEXT(turned, "a?b?c?d\xe2\x80\xa6");
}

static void screens(void)
{
	FILE *out = begin();

	/* Colours and the bytes of a character take no room; the last row stays free. */
	term_cut(out, "\033[1mabc\033[0mdef\npr\xc3\xbc" "fung\nthird\nfourth\n", 4, 4, "|");
	CHECK_TEXT(end(out), "\033[1mabc\033[0md|\npr\xc3\xbc" "f|\nthir|\n");
	out = begin();
	term_cut(out, "one\n\nno end", 24, 80, "");
	CHECK_TEXT(end(out), "one\n\nno end\n");
	out = begin();
	term_cut(out, "\033[1", 24, 80, "");
	CHECK_TEXT(end(out), "\033[1\n");
}

static void folds(void)
{
	FILE *out = begin();

	/* Columns stay where they are, up to the line that is broken; blanks at its end go. */
	CHECK(term_fold(out, "  a  b\n  one  two  three  \n\n\033[1mfour\033[0m fiv\n", 10, 0) == 5);
	CHECK_TEXT(end(out), "  a  b\n  one  two\n  three\n\n\033[1mfour\033[0m fiv\n");
	/* What goes on is further to the right; a word is never broken, and needs no break before. */
	out = begin();
	CHECK(term_fold(out, " one two three\nquite-a-long-word and\n", 8, 2) == 4);
	CHECK_TEXT(end(out), " one two\n   three\nquite-a-long-word\n  and\n");
	/* What is to be copied stays together. */
	out = begin();
	CHECK(term_fold(out, "as root, echo 1 > /x; or isolator why now", 20, 2) == 3);
	CHECK_TEXT(end(out), "as root,\n  echo 1 > /x; or\n  isolator why now\n");
	out = begin();
	CHECK(term_fold(out, "undo: echo 'a b c' > /some/where/else", 20, 2) == 1);
	CHECK_TEXT(end(out), "undo: echo 'a b c' > /some/where/else\n");
}

static const struct test tests[] = {
	{ "lists of CPUs", cpulists },
	{ "unions of lists of CPUs", cpulist_unions },
	{ "JSON strings", json_strings },
	{ "JSON values", json_values },
	{ "times with units", times },
	{ "names of strangers", strangers },
	{ "a screen's cut", screens },
	{ "lines that are broken", folds },
	{ "a file replaced", replaced },
	{ "a root exchanged", roots },
};

int main(void)
{
	int code = check_run(tests, ARRAY_SIZE(tests));

	free(written);
	return code;
}
