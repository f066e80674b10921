/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef LAB_EVENT_H
#define LAB_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* What is reported of a command's output: its end, where the verdict stands. */
#define OUT_MAX		12000

/* Between begin_event() and end_event() an event's other keys are written here. */
extern FILE *report;

/* False: there is no such port, which was said on stderr. */
bool report_open(void);

/* Waits until all of it has left. */
void report_drain(void);

void begin_event(const char *event, const char *name);
void end_event(void);

/* As a JSON string. */
void put_string(const char *s, size_t len);

/* Puts the last OUT_MAX bytes of @path into the event as @key; null: it cannot be read. */
void put_file(const char *key, const char *path);

/* An event of its own: something is wrong that the host has to know. */
void problem(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif /* LAB_EVENT_H */
