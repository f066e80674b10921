// SPDX-License-Identifier: GPL-2.0-or-later
/* Instances of the tracer. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/root.h"
#include "base/text.h"
#include "check.h"
#include "machine/instance.h"

/* Where the instances of the tracer are, tracefs being elsewhere. */
static void grafts(void)
{
	char place[] = "/tmp/isolator-graft.XXXXXX";
	char *instances, *file, *path = instance_path(4711);
	struct stat status, top;
	int fd;

	CHECK(mkdtemp(place));
	instances = text_format("%s/instances", place);
	file = text_format("%s/isolator-measure-4711", instances);
	CHECK(!mkdir(instances, 0755) && !stat(place, &top));
	fd = open(place, O_PATH | O_DIRECTORY | O_CLOEXEC);
	root_graft(INSTANCE_TRACEFS, fd);
	CHECK(!instance_make("/", path) && !stat(file, &status));
	CHECK(!instance_remove("/", path) && stat(file, &status));
	fd = root_open("/", INSTANCE_TRACEFS, O_RDONLY | O_DIRECTORY);
	CHECK(fd >= 0 && !fstat(fd, &status) && status.st_ino == top.st_ino);
	close(fd);
	/* Nothing else is there, not even what begins so. */
	CHECK(root_open("/", INSTANCE_TRACEFS "s/instances", O_RDONLY) < 0);
	CHECK(!rmdir(instances) && !rmdir(place));
	free(path);
	free(file);
	free(instances);
}

static const struct test tests[] = {
	{ "a directory grafted", grafts },
};

int main(void)
{
	return check_run(tests, ARRAY_SIZE(tests));
}
