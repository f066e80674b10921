/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The texts of /proc/isolator, each into its part of a sample. */
#ifndef PARSE_H
#define PARSE_H

#include "proc/proc.h"

/*
 * @text is cut into the sample's strings; @file is its name for messages.  Status
 * comes first: the other files' lines of a CPU that it does not have are passed
 * over.  0 or -1, said why.
 */
int parse_status(struct proc_sample *sample, const char *file, char *text);
int parse_stats(struct proc_sample *sample, const char *file, char *text);
int parse_senders(struct proc_sample *sample, const char *file, char *text);
int parse_deliveries(struct proc_sample *sample, const char *file, char *text);

/* Frees what these have put behind a CPU. */
void parse_free(struct proc_cpu *cpu);

#endif
