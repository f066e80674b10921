// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attribute/trace_format.h"

#define FIELD_MOST (1 << 24)	/* an offset or a size beyond this is none */

/* The value of @key in the line at @text, as "offset:8;"; false: it is not there. */
static bool number(const char *text, const char *key, uint32_t *value)
{
	const char *end = text + strcspn(text, "\n"), *at = strstr(text, key);
	unsigned long long read;

	if (!at || at > end)
		return false;
	at += strlen(key);
	if (!isdigit((unsigned char)*at))
		return false;
	read = strtoull(at, NULL, 10);
	if (read > FIELD_MOST)
		return false;
	*value = (uint32_t)read;
	return true;
}

/* The last word of the declaration at @text, without what stands in brackets behind it. */
static bool name(const char *text, char *name)
{
	const char *end = text + strcspn(text, ";\t\n"), *begin;

	if (*end != ';')
		return false;
	if (end > text && end[-1] == ']')
		while (end > text && *--end != '[')
			;
	for (begin = end; begin > text && (isalnum((unsigned char)begin[-1]) || begin[-1] == '_');)
		begin--;
	if (begin == end || end - begin >= TRACE_FIELD_NAME)
		return false;
	snprintf(name, TRACE_FIELD_NAME, "%.*s", (int)(end - begin), begin);
	return true;
}

/* From the line at @text that begins with "field:". */
static bool field(const char *text, struct trace_field *field)
{
	uint32_t is_signed = 0;

	text += strlen("field:");
	text += strspn(text, " ");
	memset(field, 0, sizeof(*field));
	/* A relative location would need the field's own; none of those read here has it. */
	field->elsewhere = !strncmp(text, "__data_loc ", strlen("__data_loc "));
	if (!name(text, field->name) || !number(text, "offset:", &field->offset) ||
	    !number(text, "size:", &field->size))
		return false;
	field->negative = number(text, "signed:", &is_signed) && is_signed;
	return true;
}

/* Each line that is a field; false: one of them cannot be read. */
static bool fields(const char *text, struct trace_format *format)
{
	for (const char *at = text; (at = strstr(at, "field:")); at += strcspn(at, "\n")) {
		struct trace_field one;

		if (at != text && !isspace((unsigned char)at[-1]))
			continue;
		if (!field(at, &one))
			return false;
		/* What is beyond is asked for by nobody. */
		if (format->count < TRACE_FIELDS)
			format->fields[format->count++] = one;
	}
	return format->count;
}

bool trace_format_parse(const char *text, struct trace_format *format)
{
	const char *id = strstr(text, "ID:");

	memset(format, 0, sizeof(*format));
	if (!id || (id != text && id[-1] != '\n'))
		return false;
	id += strlen("ID:");
	id += strspn(id, " ");
	format->id = (uint32_t)strtoul(id, NULL, 10);
	return format->id && format->id <= UINT16_MAX && fields(text, format);
}

const struct trace_field *trace_format_field(const struct trace_format *format, const char *name)
{
	for (size_t i = 0; i < format->count; i++)
		if (!strcmp(format->fields[i].name, name))
			return &format->fields[i];
	return NULL;
}

bool trace_layout_parse(const char *text, struct trace_layout *layout)
{
	const struct trace_field *time, *commit, *data;
	struct trace_format format = { 0 };

	if (!fields(text, &format))
		return false;
	time = trace_format_field(&format, "timestamp");
	commit = trace_format_field(&format, "commit");
	data = trace_format_field(&format, "data");
	if (!time || !commit || !data || time->offset || time->size != 8)
		return false;
	*layout = (struct trace_layout){
		.commit_offset = commit->offset, .commit_size = commit->size,
		.data_offset = data->offset, .data_size = data->size,
	};
	return commit->offset == 8 && (commit->size == 4 || commit->size == 8) &&
	       data->offset == 8 + commit->size && data->size >= 64;
}
