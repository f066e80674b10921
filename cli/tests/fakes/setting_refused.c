// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A machine that does not take every setting, linked with --wrap=setting_write and
 * --wrap=setting_write_text: a write to a file of $IGNORED does nothing, one to a file
 * of $REFUSED fails as that to a managed interrupt does, one to $BUSY as that to a fair
 * server may, one to $OTHER changes it to something else, and to $KEPT its old text is not
 * written again; of $DENIED that fails as a policy does that the kernel does not take.  As in the kernel the hwlat detector has no width larger than its window.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/setting.h"

int __wrap_setting_write(const char *root, const char *path, const char *value);
int __real_setting_write(const char *root, const char *path, const char *value);
int __wrap_setting_write_text(const char *root, const char *path, const char *text);
int __real_setting_write_text(const char *root, const char *path, const char *text);

static int names(const char *variable, const char *path)
{
	const char *list = getenv(variable);

	/* Without a slash it is a file's name in any directory. */
	return list && strstr(list, strchr(list, '/') ? path : strrchr(path, '/') + 1);
}

/* The number in a file of the hwlat detector; 0: there is none. */
static unsigned long detector(const char *root, const char *name)
{
	char path[64], *text;
	unsigned long number;

	snprintf(path, sizeof(path), "/sys/kernel/tracing/hwlat_detector/%s", name);
	text = setting_read(root, path);
	number = text ? strtoul(text, NULL, 10) : 0;
	free(text);
	return number;
}

int __wrap_setting_write(const char *root, const char *path, const char *value)
{
	if ((strstr(path, "hwlat_detector/window") &&
	     strtoul(value, NULL, 10) < detector(root, "width")) ||
	    (strstr(path, "hwlat_detector/width") &&
	     strtoul(value, NULL, 10) > detector(root, "window")))
		return EINVAL;
	if (names("REFUSED", path))
		return EIO;
	if (names("BUSY", path))
		return EBUSY;
	if (names("IGNORED", path))
		return 0;
	return __real_setting_write(root, path, names("OTHER", path) ? "7" : value);
}

int __wrap_setting_write_text(const char *root, const char *path, const char *text)
{
	if (names("DENIED", path))
		return EINVAL;
	return names("IGNORED", path) || names("KEPT", path) ? 0 : __real_setting_write_text(root, path, text);
}
