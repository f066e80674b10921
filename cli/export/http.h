/* SPDX-License-Identifier: GPL-2.0-or-later */
/* As much of HTTP/1.1 as a scrape needs, and nothing that it does not. */
#ifndef HTTP_H
#define HTTP_H

#include <stdbool.h>
#include <stddef.h>

#define HTTP_MOST 8192	/* bytes of a request */

struct http_request {
	bool head;		/* the head of the answer only */
	bool openmetrics;	/* it takes that format */
	bool by_name;		/* whom it asks it knows by a name that is not localhost */
};

/*
 * What is to be answered to the @size bytes that came: 0 if the request is not whole yet, 200
 * for the metrics, or an error's number.
 */
unsigned int http_parse(const char *text, size_t size, struct http_request *request);

/* An answer with @body, of media type @type; to be freed. */
char *http_answer(unsigned int status, const char *type, const struct http_request *request,
		  const char *body, size_t body_size, size_t *size);

/* An answer that is an error, with what helps. */
char *http_error(unsigned int status, const struct http_request *request, size_t *size);

#endif
