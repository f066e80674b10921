/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts that the JSON of all subcommands has in common. */
#ifndef PROC_JSON_H
#define PROC_JSON_H

#include "json.h"
#include "proc.h"

/* Opens the object: schema, version, kernel, when, and the lists of CPUs. */
void proc_json_open(struct json *json, const char *schema, const struct proc_sample *sample);

/* Closes it, and its line. */
void proc_json_close(struct json *json);

/* Opens the object of one CPU, with what status says of it. */
void proc_json_cpu(struct json *json, const struct proc_cpu *cpu);

void proc_json_counts(struct json *json, const char *key, const struct counts *counts);

void proc_json_stack(struct json *json, const struct proc_stack *stack);

#endif
