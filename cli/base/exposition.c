// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#include "base/exposition.h"
#include "base/text.h"
#include "base/utf8.h"
#include "base/wait.h"

#define CONTROLS_END 0x20
#define DELETE 0x7f
#define CONTROLS2_END 0xa0	/* those of ISO 6429 with the eighth bit, from DELETE on */

static const struct {
	const char *name, *suffix;	/* suffix: of each sample */
} types[] = {
	[EXPOSITION_GAUGE] = { "gauge", "" },
	[EXPOSITION_COUNTER] = { "counter", "_total" },
	[EXPOSITION_INFO] = { "info", "_info" },
	[EXPOSITION_HISTOGRAM] = { "histogram", "" },
};

void exposition_family(struct exposition *to, enum exposition_type type, const char *unit,
		       const char *about, const char *name, ...)
{
	va_list arguments;

	free(to->name);
	va_start(arguments, name);
	to->name = text_formatv(name, arguments);
	va_end(arguments);
	to->type = type;
	to->unit = unit;
	to->about = about;
	to->headed = false;
}

/* The older format has no types with a suffix, no units, and an info is a gauge. */
static void put_head(struct exposition *to)
{
	bool open = to->format == EXPOSITION_OPENMETRICS;
	const char *suffix = open ? "" : types[to->type].suffix;
	enum exposition_type type = !open && to->type == EXPOSITION_INFO ? EXPOSITION_GAUGE :
		to->type;

	fprintf(to->out, "# TYPE %s%s %s\n", to->name, suffix, types[type].name);
	if (open && to->unit)
		fprintf(to->out, "# UNIT %s %s\n", to->name, to->unit);
	fprintf(to->out, "# HELP %s%s %s\n", to->name, suffix, to->about);
	to->headed = true;
}

void exposition_part(struct exposition *to, const char *suffix)
{
	if (!to->headed)
		put_head(to);
	fprintf(to->out, "%s%s", to->name, suffix);
	to->labels = false;
}

void exposition_sample(struct exposition *to)
{
	exposition_part(to, types[to->type].suffix);
}

static void begin_label(struct exposition *to, const char *name)
{
	fprintf(to->out, "%c%s=\"", to->labels ? ',' : '{', name);
	to->labels = true;
}

void exposition_label(struct exposition *to, const char *name, const char *value)
{
	char *text = exposition_text(value);

	begin_label(to, name);
	for (const char *at = text; *at; at++) {
		/* There is no line end in it any more. */
		if (*at == '\\' || *at == '"')
			fputc('\\', to->out);
		fputc(*at, to->out);
	}
	fputc('"', to->out);
	free(text);
}

void exposition_label_number(struct exposition *to, const char *name, int value)
{
	begin_label(to, name);
	fprintf(to->out, "%d\"", value);
}

static void put_seconds(struct exposition *to, uint64_t ns)
{
	if (ns == UINT64_MAX)
		fputs("+Inf", to->out);
	else
		fprintf(to->out, "%" PRIu64 ".%09" PRIu64, ns / WAIT_SECOND, ns % WAIT_SECOND);
}

void exposition_label_ns(struct exposition *to, const char *name, uint64_t ns)
{
	begin_label(to, name);
	put_seconds(to, ns);
	fputc('"', to->out);
}

static void begin_value(struct exposition *to)
{
	fputs(to->labels ? "} " : " ", to->out);
}

void exposition_number(struct exposition *to, uint64_t value)
{
	begin_value(to);
	fprintf(to->out, "%" PRIu64 "\n", value);
}

void exposition_seconds(struct exposition *to, double seconds)
{
	begin_value(to);
	fprintf(to->out, "%.9f\n", seconds);
}

void exposition_ns(struct exposition *to, uint64_t ns)
{
	begin_value(to);
	put_seconds(to, ns);
	fputc('\n', to->out);
}

void exposition_ns_at(struct exposition *to, uint64_t ns, uint64_t at_ns)
{
	begin_value(to);
	put_seconds(to, ns);
	fputc(' ', to->out);
	put_seconds(to, at_ns);
	fputc('\n', to->out);
}

void exposition_end(struct exposition *to)
{
	if (to->format == EXPOSITION_OPENMETRICS)
		fputs("# EOF\n", to->out);
	free(to->name);
	to->name = NULL;
}

char *exposition_text(const char *text)
{
	char *made;
	size_t size;
	FILE *out = text_open(&made, &size);

	while (*text) {
		const char *from = text;
		long code = utf8_next(&text);

		if (code >= CONTROLS_END && (code < DELETE || code >= CONTROLS2_END))
			fwrite(from, 1, (size_t)(text - from), out);
		else
			for (; from < text; from++)
				fprintf(out, "\\%03o", (unsigned char)*from);
	}
	fclose(out);
	return made;
}
