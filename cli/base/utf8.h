/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef UTF8_H
#define UTF8_H

#include <stdbool.h>

/*
 * The character at *@at, which moves behind it; -1 for a byte that begins none,
 * which is then the only one passed.
 */
long utf8_next(const char **at);

/*
 * Is it for a terminal, as C0, DEL and C1 are, or does it turn the direction of the text beside
 * it, as overrides and isolates do?
 */
static inline bool utf8_is_control(long code)
{
	return (code >= 0 && code < 0x20) || (code >= 0x7f && code < 0xa0) ||
		(code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

#endif
