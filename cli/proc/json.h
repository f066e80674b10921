/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts that the JSON of all subcommands has in common. */
#ifndef PROC_JSON_H
#define PROC_JSON_H

#include "base/json.h"
#include "proc/proc.h"

/* Opens the object: schema, version, kernel and when. */
void proc_json_head(struct json *json, const char *schema);

/* The same, and what is said of a sample as a whole: the lists of CPUs, the names. */
void proc_json_open(struct json *json, const char *schema, const struct proc_sample *sample);

/* Opens the object of one CPU, with what status says of it. */
void proc_json_cpu(struct json *json, const struct proc_cpu *cpu);

/* What only an isolated CPU has, the key status; else null. */
void proc_json_status(struct json *json, const struct proc_cpu *cpu);

/* The key deadline_ns: a number, or "never". */
void proc_json_deadline(struct json *json, uint64_t deadline_ns);

void proc_json_counts(struct json *json, const char *key, const struct counts *counts);

void proc_json_stack(struct json *json, const struct proc_stack *stack);

#endif
