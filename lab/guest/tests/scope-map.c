// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: scope-map
 * cpus: 2
 * kernel: any
 * doorbell: yes
 * timeout: 60
 * about: what may be mapped of /dev/isolator_scope, and that it is taken back with the device
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../../scope/include/isolator_scope.h"
#include "../../../scope/include/scope_lines.h"
#include "tap.h"

#define DEVICE "/dev/isolator_scope"
#define DRIVER "/sys/bus/pci/drivers/isolator_scope"
#define PAGE 4096
#define SIZE (2 * PAGE)

static sigjmp_buf faulted;

static void on_fault(int number)
{
	siglongjmp(faulted, number);
}

/* Is the memory there? */
static bool there(const volatile void *memory)
{
	if (sigsetjmp(faulted, 1))
		return false;
	(void)*(const volatile char *)memory;
	return true;
}

static void *map(int file, size_t size, int how, int kind, off_t at)
{
	void *memory = mmap(NULL, size, how, kind, file, at);

	return memory == MAP_FAILED ? NULL : memory;
}

static void refuse(int file, int error, size_t size, int how, int kind, off_t at, const char *what)
{
	void *memory = map(file, size, how, kind, at);

	ok(!memory && errno == error, "refused: %s", what);
	if (memory)
		munmap(memory, size);
}

static void refuses(int file)
{
	const int both = PROT_READ | PROT_WRITE;

	refuse(file, EINVAL, SIZE, both, MAP_PRIVATE, SCOPE_MAP_POLL, "a private line");
	refuse(file, EINVAL, SIZE, PROT_READ, MAP_PRIVATE, SCOPE_MAP_HEADER, "a private header");
	refuse(file, EACCES, SIZE, both, MAP_SHARED, SCOPE_MAP_HEADER, "to write to the header");
	refuse(file, EINVAL, SIZE + PAGE, PROT_READ, MAP_SHARED, SCOPE_MAP_HEADER, "beyond it");
	refuse(file, EINVAL, PAGE, PROT_READ, MAP_SHARED, PAGE, "from its middle");
}

/* A map may be taken away in parts: the rest stays what it was. */
static void split(int file)
{
	char *memory = map(file, SIZE, PROT_READ, MAP_SHARED, SCOPE_MAP_HEADER);
	struct scope_lines *lines = (struct scope_lines *)memory;

	if (!memory || lines->magic != SCOPE_LINES_MAGIC)
		bail_out("no header");
	munmap(memory, PAGE);
	ok(*(__u32 *)(memory + PAGE) != SCOPE_LINES_MAGIC, "its second page is not its first");
	munmap(memory + PAGE, PAGE);
}

/* The name of the device below the driver's directory. */
static const char *bound(void)
{
	static char name[256];
	DIR *directory = opendir(DRIVER);
	struct dirent *entry;

	name[0] = 0;
	while (directory && (entry = readdir(directory)))
		if (strchr(entry->d_name, ':'))
			snprintf(name, sizeof(name), "%s", entry->d_name);
	if (directory)
		closedir(directory);
	return name;
}

static bool tell(const char *what, const char *name)
{
	int file = open(what, O_WRONLY | O_CLOEXEC);
	bool done = file >= 0 && write(file, name, strlen(name)) == (ssize_t)strlen(name);

	close(file);
	return done;
}

/* Through two nodes of it, one of which is gone already. */
static void taken_back(int file)
{
	const char *name = bound(), *other = "/run/scope-node";
	volatile void *first, *second, *line;
	__u32 sequence = 1;
	struct stat about;
	int again;

	if (fstat(file, &about) || mknod(other, S_IFCHR | 0600, about.st_rdev))
		bail_out("no node");
	again = open(other, O_RDWR | O_CLOEXEC);
	first = map(file, SIZE, PROT_READ, MAP_SHARED, SCOPE_MAP_HEADER);
	line = map(file, SIZE, PROT_READ, MAP_SHARED, SCOPE_MAP_POLL);
	second = map(again, SIZE, PROT_READ, MAP_SHARED, SCOPE_MAP_HEADER);
	ok(first && second && line && there(first) && there(second) && there(line), "all mapped");
	close(open(other, O_RDWR | O_CLOEXEC));
	unlink(other);
	ok(tell(DRIVER "/unbind", name), "the driver is unbound from %s", name);
	ok(!there(first) && !there(line), "what was mapped is there no more");
	ok(!there(second), "nor what was mapped through another node");
	ok(read(file, &sequence, sizeof(sequence)) < 0 && errno == ENODEV, "read: no device");
	ok(ioctl(file, SCOPE_IOC_ANSWER, &sequence) < 0 && errno == ENODEV, "answer: no device");
	refuse(file, ENODEV, SIZE, PROT_READ, MAP_SHARED, SCOPE_MAP_HEADER, "to map what is gone");
	close(again);
	ok(tell(DRIVER "/bind", name), "bound again");
	again = open(DEVICE, O_RDWR | O_CLOEXEC);
	ok(again >= 0 && !there(first), "what was mapped before is of the device before");
	close(again);
	/* A map holds the module. */
	munmap((void *)first, SIZE);
	munmap((void *)second, SIZE);
	munmap((void *)line, SIZE);
}

int main(void)
{
	int file;

	if (system("modprobe isolator_scope"))
		bail_out("no module isolator_scope");
	file = open(DEVICE, O_RDWR | O_CLOEXEC);
	if (file < 0)
		bail_out("no " DEVICE);
	signal(SIGBUS, on_fault);
	signal(SIGSEGV, on_fault);
	refuses(file);
	split(file);
	taken_back(file);
	close(file);
	ok(!system("modprobe -r isolator_scope"), "it can be unloaded");
	return done_testing();
}
