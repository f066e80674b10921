// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Compiles a small C tree of its own again and again, as the build of a kernel does: many
 * short processes, each with page faults, files and much memory that is written once.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "interfere/program.h"

#define COMPILER "cc"
#define FILES 16
#define FUNCTIONS 6

static char *missing(const char *variant)
{
	(void)variant;
	if (!program_exists(COMPILER))
		return text_format("there is no C compiler, cc: apt install gcc libc6-dev");
	return NULL;
}

static int settle(struct work *work)
{
	work->words = text_format("%s -O2 on a tree of %d files, again and again", COMPILER, FILES);
	return 0;
}

/* Loops, branches and structures: what an optimiser has to think about. */
static const char header[] =
	"#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
	"#define FUNCTION(name, keys, chars, modulus) \\\n"
	"struct name { struct name *next; unsigned long key[keys]; char text[chars]; }; \\\n"
	"unsigned long walk_##name(struct name *list, const char *text, unsigned long n) \\\n"
	"{ \\\n"
	"	unsigned long sum = sizeof(*list); \\\n"
	"	for (; list; list = list->next) { \\\n"
	"		for (unsigned long i = 0; i < keys; i++) { \\\n"
	"			if (list->key[i] % modulus == n) \\\n"
	"				sum += list->key[i] * i; \\\n"
	"			else \\\n"
	"				sum ^= (unsigned long)text[i % chars] << (i & 7); \\\n"
	"		} \\\n"
	"		switch (sum % 5) { \\\n"
	"		case 0: memcpy(list->text, text, chars); break; \\\n"
	"		case 1: snprintf(list->text, chars, \"%lu\", sum); break; \\\n"
	"		case 2: list->key[n % keys] = strlen(list->text); break; \\\n"
	"		default: sum = sum * 31 + n; break; \\\n"
	"		} \\\n"
	"	} \\\n"
	"	return sum; \\\n"
	"}\n";

/* Each function a bit different from all others. */
static void put_file(FILE *out, int file)
{
	fputs(header, out);
	for (int number = 0; number < FUNCTIONS; number++)
		fprintf(out, "FUNCTION(f%d_%d, %d, %d, %d)\n", file, number, 3 + number % 13,
			8 + number % 9, 3 + (number + file) % 11);
}

static void prepare(struct work *work)
{
	for (int file = 0; file < FILES; file++) {
		char *name = text_format("%s/f%d.c", work->scratch, file);
		FILE *out = fopen(name, "we");

		if (!out)
			work_fail(work, "%s: %s", name, strerror(errno));
		put_file(out, file);
		if (fflush(out) || ferror(out))
			work_fail(work, "%s: %s", name, strerror(errno));
		fclose(out);
		free(name);
	}
}

static void run(struct work *work) __attribute__((noreturn));

static void run(struct work *work)
{
	char *object = text_format("%s/cpu%d.o", work->scratch, work->slot->cpu);

	for (int file = 0;; file = (file + 1) % FILES) {
		char *source = text_format("%s/f%d.c", work->scratch, file);

		program_must(work, (const char *const []){ COMPILER, "-pipe", "-O2", "-c", "-o",
							   object, source, NULL });
		free(source);
		/* The first one has shown that it compiles. */
		if (!work->slot->operations)
			work_ready(work);
		work_did(work->slot, 1);
	}
}

const struct work_type work_compile = {
	.type = {
		.name = "compile",
		.about = "compiles a small C tree again and again",
		.operation = "files compiled",
	},
	.files = true,
	.missing = missing,
	.settle = settle,
	.prepare = prepare,
	.run = run,
};
