// SPDX-License-Identifier: GPL-2.0-or-later
#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/text.h"
#include "export/http.h"

#define TYPE "application/openmetrics-text"

static const struct {
	unsigned int status;
	const char *reason, *fix;
} answers[] = {
	{ 200, "OK", NULL },
	{ 400, "Bad Request", "This is no request of HTTP/1.1.\n" },
	{ 404, "Not Found", "The metrics are at /metrics.\n" },
	{ 405, "Method Not Allowed", "Only GET and HEAD are answered.\n" },
	{ 408, "Request Timeout", "The request did not come in time.\n" },
	{ 421, "Misdirected Request",
	  "Ask by localhost or by the address: another name may be a page's of another site.\n" },
	{ 431, "Request Header Fields Too Large", "A request may have 8192 bytes.\n" },
	{ 500, "Internal Server Error",
	  "The kernel's files cannot be read; what isolator export says on stderr tells why.\n" },
	{ 505, "HTTP Version Not Supported", "Only HTTP/1.0 and HTTP/1.1 are answered.\n" },
};

/* Behind the empty line that ends the head; NULL: it has not come. */
static const char *head_end(const char *text, size_t size)
{
	for (const char *at = text; (at = memchr(at, '\n', size - (size_t)(at - text))); at++) {
		size_t left = size - (size_t)(at - text);

		if (left >= 2 && at[1] == '\n')
			return at + 2;
		if (left >= 3 && at[1] == '\r' && at[2] == '\n')
			return at + 3;
	}
	return NULL;
}

/* Is TYPE among what a line "Accept:" names?  The line is left as it is. */
static bool accepts(const char *line, size_t length)
{
	static const char name[] = "accept:";

	if (length < strlen(name) || strncasecmp(line, name, strlen(name)))
		return false;
	for (size_t i = strlen(name); i + strlen(TYPE) <= length; i++)
		if (!strncasecmp(line + i, TYPE, strlen(TYPE)))
			return true;
	return false;
}

/* Does a line "Host:" say a name?  Whoever may choose names has none for localhost. */
static bool names_host(const char *line, size_t length)
{
	static const char name[] = "host:";
	char host[sizeof("[]:65535") + INET6_ADDRSTRLEN], *end;
	struct in6_addr address;

	if (length < strlen(name) || strncasecmp(line, name, strlen(name)))
		return false;
	line += strlen(name);
	length -= strlen(name);
	for (; length && strchr(" \t", *line); length--)
		line++;
	while (length && strchr(" \t", line[length - 1]))
		length--;
	if (length >= sizeof(host))
		return true;
	memcpy(host, line, length);
	host[length] = '\0';
	if (*host == '[') {
		end = strchr(host, ']');
		if (!end || (end[1] && end[1] != ':'))
			return true;
		*end = '\0';
		return inet_pton(AF_INET6, host + 1, &address) != 1;
	}
	host[strcspn(host, ":")] = '\0';
	return length && strcasecmp(host, "localhost") && inet_pton(AF_INET, host, &address) != 1;
}

/* "GET /metrics HTTP/1.1" */
static unsigned int parse_line(const char *line, size_t length, struct http_request *request)
{
	const char *target = memchr(line, ' ', length), *version;
	size_t left, word;

	if (!target)
		return 400;
	target++;
	left = length - (size_t)(target - line);
	version = memchr(target, ' ', left);
	if (!version || version == target)
		return 400;
	word = (size_t)(version - target);
	version++;
	left = length - (size_t)(version - line);
	if (left < strlen("HTTP/x.y") || strncmp(version, "HTTP/", 5))
		return 400;
	if (left != strlen("HTTP/x.y") || strncmp(version, "HTTP/1.", 7))
		return 505;
	request->head = !strncmp(line, "HEAD ", 5);
	if (!request->head && strncmp(line, "GET ", 4))
		return 405;
	/* What follows a question mark asks for nothing that there is. */
	if (memchr(target, '?', word))
		word = (size_t)((const char *)memchr(target, '?', word) - target);
	return word == strlen("/metrics") && !strncmp(target, "/metrics", word) ? 200 : 404;
}

unsigned int http_parse(const char *text, size_t size, struct http_request *request)
{
	const char *end = head_end(text, size), *line = text;
	unsigned int status = 0;

	*request = (struct http_request){ 0 };
	if (!end)
		return size < HTTP_MOST ? 0 : 431;
	if (memchr(text, '\0', (size_t)(end - text)))
		return 400;
	while (line < end) {
		const char *next = memchr(line, '\n', (size_t)(end - line));
		size_t length = (size_t)(next - line);

		if (length && line[length - 1] == '\r')
			length--;
		if (line == text)
			status = parse_line(line, length, request);
		else if (accepts(line, length))
			request->openmetrics = true;
		else if (names_host(line, length))
			request->by_name = true;
		line = next + 1;
	}
	return status;
}

char *http_answer(unsigned int status, const char *type, const struct http_request *request,
		  const char *body, size_t body_size, size_t *size)
{
	const char *reason = "";
	char *text;
	FILE *out = text_open(&text, size);

	for (size_t i = 0; i < ARRAY_SIZE(answers); i++)
		if (answers[i].status == status)
			reason = answers[i].reason;
	fprintf(out, "HTTP/1.1 %u %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s"
		"Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
		status, reason, type, body_size, status == 405 ? "Allow: GET, HEAD\r\n" : "");
	if (!request->head)
		fwrite(body, 1, body_size, out);
	fclose(out);
	return text;
}

char *http_error(unsigned int status, const struct http_request *request, size_t *size)
{
	const char *fix = "";

	for (size_t i = 0; i < ARRAY_SIZE(answers); i++)
		if (answers[i].status == status)
			fix = answers[i].fix;
	return http_answer(status, "text/plain; charset=utf-8", request, fix, strlen(fix), size);
}
