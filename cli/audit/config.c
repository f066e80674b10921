// SPDX-License-Identifier: GPL-2.0-or-later
/* The kernel's configuration, from wherever it can be had. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/audit.h"
#include "base/root.h"
#include "base/text.h"
#include "machine/filter.h"

#define PLAIN "/proc/config"
#define ZIPPED "/proc/config.gz"

/*
 * The running kernel's own one, which has to be unpacked, as the file PLAIN that
 * bundles have and machines do not.
 */
static void unpack(struct capture *capture)
{
	static const char *const zcat[] = { "zcat", NULL };
	struct capture_file *file;
	size_t size;
	char *text;
	int fd;

	if (capture->kind == CAPTURE_BUNDLE || capture_find(capture, ZIPPED))
		return;
	fd = root_open(capture->root, ZIPPED, O_RDONLY);
	if (fd < 0)
		return;
	text = filter(zcat, fd, &size);
	file = capture_find(capture, PLAIN);
	if (text && size && file) {
		file->mode = 0444;
		capture_fill(file, text, size);
	} else {
		capture_add(capture, ZIPPED)->error = text ? EILSEQ :
			errno == ENOENT ? ENOEXEC : errno;
		free(text);
	}
	close(fd);
}

const struct capture_file *audit_config_file(struct audit *audit)
{
	const struct capture_file *file = capture_read(audit->capture, PLAIN), *zipped, *release;
	char *path;

	if (file->error == ENOENT)
		unpack(audit->capture);
	if (!file->error)
		return audit_file(audit, "%s", PLAIN);
	release = audit_file(audit, "/proc/sys/kernel/osrelease");
	if (!release)
		return NULL;
	path = text_format("/boot/config-%s", release->value);
	file = capture_read(audit->capture, path);
	if (!file->error)
		audit->read++;
	zipped = capture_find(audit->capture, ZIPPED);
	if (file->error && zipped && zipped->error == ENOEXEC)
		audit_unread(audit, ZIPPED, "no zcat to unpack it: install gzip");
	else if (file->error && zipped && zipped->error)
		audit_unread(audit, ZIPPED, "zcat cannot unpack it");
	else if (file->error == ENOENT)
		audit_unread(audit, path, "the kernel's configuration is neither here nor in " ZIPPED);
	else if (file->error)
		audit_denied(audit, path, file->error);
	free(path);
	return file->error ? NULL : file;
}

const char *audit_config(struct audit *audit, const char *name)
{
	const struct capture_file *file = audit_config_file(audit);
	static char value[64];
	char *line;
	const char *at;

	if (!file)
		return NULL;
	line = text_format("\nCONFIG_%s=", name);
	at = strncmp(file->text, line + 1, strlen(line) - 1) ? strstr(file->text, line) :
		file->text - 1;
	if (at) {
		at += strlen(line);
		snprintf(value, sizeof(value), "%.*s", (int)strcspn(at, "\n"), at);
	}
	free(line);
	return at ? value : NULL;
}
