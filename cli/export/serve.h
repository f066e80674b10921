/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers scrapes until a signal ends it, whatever else its clients do. */
#ifndef SERVE_H
#define SERVE_H

#include <stdbool.h>
#include <stddef.h>

#include "export/exposition.h"

/* The metrics in @format, *@text to be freed: 0, or -1, said why. */
typedef int (*serve_text)(enum exposition_format format, char **text, size_t *size);

/*
 * Answers at @file, a listening socket, which does not block.  @formats: 1 << each that may be
 * answered; with both, the request says which.  Returns after SIGINT, SIGTERM or SIGHUP, as of
 * wait_prepare().
 * @by_name: also who asks by a name is answered, which a browser does for any site's page.
 */
void serve(int file, bool by_name, unsigned int formats, serve_text text);

#endif
