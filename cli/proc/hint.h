/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HINT_H
#define HINT_H

/*
 * What a request means and what can be done about it.  @callback may be NULL; one
 * that is not in the table is one that Isolator queues without knowing it.
 */
const char *hint(const char *kind, const char *callback);

#endif
