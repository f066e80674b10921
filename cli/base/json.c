// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <math.h>
#include <time.h>

#include "base/cpulist.h"
#include "base/json.h"
#include "base/utf8.h"
#include "base/wait.h"

static void quoted(FILE *out, const char *text)
{
	fputc('"', out);
	while (*text) {
		const char *from = text;
		long code = utf8_next(&text);

		if (code < 0)
			fputs("\\ufffd", out);
		else if (code == '"' || code == '\\')
			fprintf(out, "\\%c", (int)code);
		else if (utf8_is_control(code))
			fprintf(out, "\\u%04lx", (unsigned long)code);
		else
			fwrite(from, 1, (size_t)(text - from), out);
	}
	fputc('"', out);
}

/* What comes before each value. */
static void begin(struct json *json, const char *key)
{
	if (json->comma)
		fputc(',', json->out);
	json->comma = true;
	if (key) {
		quoted(json->out, key);
		fputc(':', json->out);
	}
}

void json_open(struct json *json, const char *key, char bracket)
{
	begin(json, key);
	fputc(bracket, json->out);
	json->comma = false;
}

void json_close(struct json *json, char bracket)
{
	fputc(bracket, json->out);
	json->comma = true;
}

void json_null(struct json *json, const char *key)
{
	begin(json, key);
	fputs("null", json->out);
}

bool json_open_if(struct json *json, const char *key, char bracket, bool known)
{
	if (known)
		json_open(json, key, bracket);
	else
		json_null(json, key);
	return known;
}

void json_bool(struct json *json, const char *key, bool value)
{
	begin(json, key);
	fputs(value ? "true" : "false", json->out);
}

void json_number(struct json *json, const char *key, uint64_t value)
{
	begin(json, key);
	fprintf(json->out, "%" PRIu64, value);
}

void json_integer(struct json *json, const char *key, int64_t value)
{
	begin(json, key);
	fprintf(json->out, "%" PRId64, value);
}

void json_number_if(struct json *json, const char *key, bool known, uint64_t value)
{
	if (known)
		json_number(json, key, value);
	else
		json_null(json, key);
}

void json_real(struct json *json, const char *key, double value)
{
	if (!isfinite(value)) {
		json_null(json, key);
		return;
	}
	begin(json, key);
	fprintf(json->out, "%.3f", value);
}

void json_literal(struct json *json, const char *key, const char *number)
{
	begin(json, key);
	fputs(number, json->out);
}

void json_string(struct json *json, const char *key, const char *value)
{
	if (!value) {
		json_null(json, key);
		return;
	}
	begin(json, key);
	quoted(json->out, value);
}

void json_cpus(struct json *json, const char *key, const struct cpulist *list)
{
	json_open(json, key, '[');
	for (int cpu = -1; (cpu = cpulist_next(list, cpu)) >= 0;)
		json_integer(json, NULL, cpu);
	json_close(json, ']');
}

const char *json_time_text(char text[JSON_TIME], uint64_t real_ns)
{
	time_t seconds = (time_t)(real_ns / WAIT_SECOND);
	struct tm utc = { 0 };
	size_t length;

	gmtime_r(&seconds, &utc);
	length = strftime(text, JSON_TIME, "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(text + length, JSON_TIME - length, ".%09uZ", (unsigned int)(real_ns % WAIT_SECOND));
	return text;
}

void json_time(struct json *json, const char *key, uint64_t real_ns)
{
	char text[JSON_TIME];

	json_string(json, key, json_time_text(text, real_ns));
}

static bool printed;

bool json_printed(void)
{
	return printed;
}

void json_document(struct json *json, const char *schema, int version)
{
	time_t now = time(NULL);
	struct tm utc = { 0 };
	char when[32];

	gmtime_r(&now, &utc);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &utc);
	printed |= json->out == stdout;
	json_open(json, NULL, '{');
	json_string(json, "schema", schema);
	json_integer(json, "version", version);
	json_string(json, "time", when);
}

void json_document_end(struct json *json)
{
	json_close(json, '}');
	fputc('\n', json->out);
	json->comma = false;
}
