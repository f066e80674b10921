// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#include "base/text.h"
#include "base/utf8.h"
#include "base/wait.h"
#include "export/exposition.h"

#define CONTROLS_END 0x20
#define DELETE 0x7f
#define CONTROLS2_END 0xa0	/* those of ISO 6429 with the eighth bit, from DELETE on */

const char *exposition_content(enum exposition_format format)
{
	return format == EXPOSITION_OPENMETRICS ?
		"application/openmetrics-text; version=1.0.0; charset=utf-8" :
		"text/plain; version=0.0.4; charset=utf-8";
}

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
static void put_head(struct exposition *to, const char *suffix)
{
	static const char *const types[] = { "gauge", "counter", "info" };
	bool open = to->format == EXPOSITION_OPENMETRICS;
	enum exposition_type type = to->type;

	if (open)
		suffix = "";
	else if (type == EXPOSITION_INFO)
		type = EXPOSITION_GAUGE;
	fprintf(to->out, "# TYPE %s%s %s\n", to->name, suffix, types[type]);
	if (open && to->unit)
		fprintf(to->out, "# UNIT %s %s\n", to->name, to->unit);
	fprintf(to->out, "# HELP %s%s %s\n", to->name, suffix, to->about);
	to->headed = true;
}

void exposition_sample(struct exposition *to)
{
	static const char *const suffixes[] = { "", "_total", "_info" };

	if (!to->headed)
		put_head(to, suffixes[to->type]);
	fprintf(to->out, "%s%s", to->name, suffixes[to->type]);
	to->labels = false;
}

void exposition_label(struct exposition *to, const char *name, const char *value)
{
	char *text = exposition_text(value);

	fprintf(to->out, "%c%s=\"", to->labels ? ',' : '{', name);
	to->labels = true;
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
	fprintf(to->out, "%c%s=\"%d\"", to->labels ? ',' : '{', name, value);
	to->labels = true;
}

static void put_value(struct exposition *to)
{
	fputs(to->labels ? "} " : " ", to->out);
}

void exposition_number(struct exposition *to, uint64_t value)
{
	put_value(to);
	fprintf(to->out, "%" PRIu64 "\n", value);
}

void exposition_ns(struct exposition *to, uint64_t ns)
{
	put_value(to);
	if (ns == UINT64_MAX)
		fputs("+Inf\n", to->out);
	else
		fprintf(to->out, "%" PRIu64 ".%09" PRIu64 "\n", ns / WAIT_SECOND,
			ns % WAIT_SECOND);
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
