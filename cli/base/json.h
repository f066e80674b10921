/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes JSON on one line.  Inside an object each call has a key, inside an array
 * it is NULL.
 */
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct cpulist;

struct json {
	FILE *out;
	bool comma;	/* the next value has one before it */
};

void json_open(struct json *json, const char *key, char bracket);
/* The same if it is @known; else it is null, and not to be closed.  Returns @known. */
bool json_open_if(struct json *json, const char *key, char bracket, bool known);

void json_close(struct json *json, char bracket);
void json_null(struct json *json, const char *key);
void json_bool(struct json *json, const char *key, bool value);
void json_number(struct json *json, const char *key, uint64_t value);
void json_integer(struct json *json, const char *key, int64_t value);

/* The number, or null if it is not @known. */
void json_number_if(struct json *json, const char *key, bool known, uint64_t value);

/* With three decimals; what is no number becomes null. */
void json_real(struct json *json, const char *key, double value);

/* The number that @number is, in its digits. */
void json_literal(struct json *json, const char *key, const char *number);

/* An array of numbers; empty for a list that was not given. */
void json_cpus(struct json *json, const char *key, const struct cpulist *list);

/* CLOCK_REALTIME in UTC, with nanoseconds, as documents have it. */
#define JSON_TIME 40
const char *json_time_text(char text[JSON_TIME], uint64_t real_ns);
void json_time(struct json *json, const char *key, uint64_t real_ns);

/* Opens a document: its schema and version, and when it was written. */
void json_document(struct json *json, const char *schema, int version);

/* Has a document been opened on standard output? */
bool json_printed(void);

/* Closes it, and its line; another may follow. */
void json_document_end(struct json *json);

/* NULL becomes null, bytes that are no UTF-8 become U+FFFD. */
void json_string(struct json *json, const char *key, const char *value);

#endif
