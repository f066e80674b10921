// SPDX-License-Identifier: GPL-2.0-or-later
/* What the next boot gets, for people and for programs. */
#include <stdlib.h>

#include "audit/boot.h"
#include "base/diff.h"
#include "base/json.h"
#include "base/term.h"
#include "base/text.h"

/* All parameters with blanks between; to be freed. */
static char *words(const struct boot *boot)
{
	size_t size;
	char *text;
	FILE *out = text_open(&text, &size);

	for (size_t i = 0; i < boot->count; i++)
		fprintf(out, "%s%s", i ? " " : "", boot->parameters[i]);
	fclose(out);
	return text;
}

void boot_text(FILE *out, const struct boot *boot)
{
	char *all;

	if (!boot->count)
		return;
	all = words(boot);
	fputs("\nNext boot\n  wanted: ", out);
	term_put(out, all);
	fputc('\n', out);
	free(all);
	if (boot->state == BOOT_WRITTEN)
		fputs("  written, and update-grub ran: it takes effect at the next boot; isolator restore undoes it:\n",
		      out);
	else if (boot->state == BOOT_STANDS)
		fputs("  already written; it takes effect at the next boot if update-grub ran since\n",
		      out);
	else if (boot->why)
		fputs(boot->path ? "  not changed: " : "  by hand: ", out);
	else
		fputs("  --fix --boot writes this and runs update-grub; it takes effect at the next boot:\n",
		      out);
	if (boot->state == BOOT_STANDS)
		return;
	if (boot->why && boot->state != BOOT_WRITTEN) {
		term_put(out, boot->why);
		fputc('\n', out);
	}
	if (boot->path && boot->after)
		diff_put(out, "    ", boot->path, boot->before, boot->after);
}

void boot_json(struct json *json, const struct boot *boot)
{
	static const char *const states[] = {
		[BOOT_SHOWN] = "shown",
		[BOOT_STANDS] = "stands",
		[BOOT_WRITTEN] = "written",
		[BOOT_REFUSED] = "refused",
	};
	char *diff;
	size_t size;
	FILE *out;

	if (!boot->count) {
		json_null(json, "boot");
		return;
	}
	json_open(json, "boot", '{');
	json_string(json, "loader", boot->loader);
	json_string(json, "path", boot->path);
	json_open(json, "parameters", '[');
	for (size_t i = 0; i < boot->count; i++)
		json_string(json, NULL, boot->parameters[i]);
	json_close(json, ']');
	out = text_open(&diff, &size);
	if (boot->path && boot->state != BOOT_STANDS)
		diff_put(out, "", boot->path, boot->before, boot->after);
	fclose(out);
	json_string(json, "diff", diff);
	free(diff);
	json_string(json, "state", states[boot->state]);
	json_string(json, "why", boot->why);
	json_close(json, '}');
}
