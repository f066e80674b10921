/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef UTF8_H
#define UTF8_H

/*
 * The character at *@at, which moves behind it; -1 for a byte that begins none,
 * which is then the only one passed.
 */
long utf8_next(const char **at);

#endif
