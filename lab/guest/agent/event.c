// SPDX-License-Identifier: GPL-2.0-or-later
/* What the guest reports: a line of JSON for each event, on its own serial port. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "agent.h"
#include "event.h"

/* The second port of a PC; on arm64 a card beside the board's own port. */
#ifdef __x86_64__
#define REPORT		"/dev/ttyS1"
#else
#define REPORT		"/dev/ttyS0"
#endif

FILE *report;

bool report_open(void)
{
	int fd = open(REPORT, O_WRONLY | O_NOCTTY | O_CLOEXEC);

	if (fd < 0) {
		fprintf(stderr, "agent: no " REPORT ": is CONFIG_SERIAL_8250 set?\n");
		return false;
	}
	port_raw(fd);
	report = fdopen(fd, "w");
	return report;
}

void report_drain(void)
{
	tcdrain(fileno(report));
}

void put_string(const char *s, size_t len)
{
	size_t i;

	fputc('"', report);
	for (i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c == '"' || c == '\\')
			fprintf(report, "\\%c", c);
		else if (c == '\n')
			fputs("\\n", report);
		else if (c < 0x20 || c > 0x7e)
			fprintf(report, "\\u%04x", c);
		else
			fputc(c, report);
	}
	fputc('"', report);
}

void begin_event(const char *event, const char *name)
{
	fprintf(report, "{\"event\": \"%s\", \"name\": ", event);
	put_string(name, strlen(name));
}

void end_event(void)
{
	fputs("}\n", report);
	fflush(report);
}

void put_file(const char *key, const char *path)
{
	static char buf[OUT_MAX];
	size_t len = 0;
	ssize_t n;
	off_t size;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	fprintf(report, ", \"%s\": ", key);
	if (fd < 0) {
		fputs("null", report);
		return;
	}
	size = lseek(fd, 0, SEEK_END);
	if (size > OUT_MAX)
		lseek(fd, size - OUT_MAX, SEEK_SET);
	else
		lseek(fd, 0, SEEK_SET);
	while (len < sizeof(buf) && (n = read(fd, buf + len, sizeof(buf) - len)) > 0)
		len += (size_t)n;
	close(fd);
	put_string(buf, len);
}

void problem(const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	begin_event("problem", "agent");
	fputs(", \"text\": ", report);
	put_string(text, strlen(text));
	end_event();
}
