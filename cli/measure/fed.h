/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instead of measuring: values from a file, each a word of 64 bits in ns as the CPU has
 * it, UINT64_MAX for a trigger without one.  For tests of all that comes after.
 */
#ifndef FED_H
#define FED_H

#include "sampling/method.h"

/* Its options are the file's name; all CPUs read from one file as it comes. */
extern const struct method fed_method;

#endif
