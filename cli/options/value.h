/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The value of an option, as text and as what a command works with. */
#ifndef VALUE_H
#define VALUE_H

#include "options/options.h"

/*
 * A time: a number with its unit, ns to h, or in @unit without one, where "" accepts
 * none.  False: @text is no time, is above 0 and less than 1 ns, or is more than 30 years.
 */
bool value_time(const char *text, const char *unit, uint64_t *ns);

/* Stores @text, NULL for an option without an argument; false, said why. */
bool value_set(const struct option_spec *spec, const char *text);

#endif
