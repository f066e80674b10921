/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where hosts connect. */
#ifndef LISTEN_H
#define LISTEN_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Listens at @text, ADDRESS:PORT, where others than this machine's may only connect with
 * @token.  Returns the socket, and where it is in @where; -1: @why says what is wrong.
 */
int listen_begin(const char *text, bool token, char *where, char *why, size_t size);

#endif
