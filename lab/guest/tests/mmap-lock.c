// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: mmap-lock
 * cpus: 4
 * kernel: isolator
 * timeout: 60
 * about: one whose memory is locked by a sibling that waits starts; others start, stop and exit
 *
 * The sibling unmaps a file of a FUSE file system, which sends the times of the file to
 * the server while the mmap lock is held, and the server takes its time.
 */
#include <linux/fuse.h>
#include <sys/mount.h>
#include "../modules.h"
#include "../test.h"

#define WHERE	"/tmp/lab-fuse"
#define STATUS	"/proc/isolator/status"

enum { FILE_NODE = 2, PATIENCE_MS = 15000 };

static struct shared {
	_Atomic bool asked, go, unmapped;	/* the times of the file, and their answer */
	_Atomic int started, error;		/* of the sibling's start */
} *shared;

static void answer(int fd, uint64_t unique, int error, const void *data, size_t size)
{
	char reply[1024];
	struct fuse_out_header *out = (struct fuse_out_header *)reply;

	*out = (struct fuse_out_header){ .len = (uint32_t)(sizeof(*out) + size),
					 .error = error, .unique = unique };
	memcpy(out + 1, data, size);
	if (write(fd, reply, out->len) < 0 && errno != ENOENT)
		_exit(1);
}

static struct fuse_attr attr_of(uint64_t node)
{
	return (struct fuse_attr){
		.ino = node, .nlink = 1, .blksize = 4096,
		.size = node == FILE_NODE ? 4096 : 0,
		.mode = node == FILE_NODE ? S_IFREG | 0600 : S_IFDIR | 0700,
	};
}

/* One file, of one page, in a directory; what asks for its times waits. */
static void serve(int fd)
{
	static char in[1 << 18];
	const struct fuse_in_header *header = (struct fuse_in_header *)in;

	for (;;) {
		struct fuse_attr_out attr = { .attr_valid = 3600 };
		struct fuse_entry_out entry = { .nodeid = FILE_NODE, .entry_valid = 3600,
						.attr_valid = 3600 };
		struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION, .minor = 31,
					      .max_write = 4096, .flags = FUSE_WRITEBACK_CACHE };
		struct fuse_write_out wrote = { .size = 4096 };
		struct fuse_open_out opened = { 0 };
		static const char zeros[512];

		if (read(fd, in, sizeof(in)) < 0)
			_exit(errno == ENODEV ? 0 : 1);
		attr.attr = attr_of(header->nodeid);
		entry.attr = attr_of(FILE_NODE);
		switch (header->opcode) {
		case FUSE_INIT:
			answer(fd, header->unique, 0, &init, sizeof(init));
			break;
		case FUSE_LOOKUP:
			answer(fd, header->unique, 0, &entry, sizeof(entry));
			break;
		case FUSE_SETATTR:
			shared->asked = true;
			while (!shared->go)
				sleep_ms(1);	/* sleep: between two looks */
			/* fall through */
		case FUSE_GETATTR:
			answer(fd, header->unique, 0, &attr, sizeof(attr));
			break;
		case FUSE_OPEN:
			answer(fd, header->unique, 0, &opened, sizeof(opened));
			break;
		case FUSE_READ:		/* a short read: the rest is zeros as well */
			answer(fd, header->unique, 0, zeros, sizeof(zeros));
			break;
		case FUSE_WRITE:
			answer(fd, header->unique, 0, &wrote, sizeof(wrote));
			break;
		case FUSE_FLUSH:
		case FUSE_RELEASE:
		case FUSE_FSYNC:
			answer(fd, header->unique, 0, NULL, 0);
			break;
		case FUSE_FORGET:
		case FUSE_BATCH_FORGET:
		case FUSE_INTERRUPT:
			break;		/* no answer is wanted */
		default:
			answer(fd, header->unique, -ENOSYS, NULL, 0);
		}
	}
}

static void *unmapper(void *unused)
{
	int fd = open(WHERE "/file", O_RDWR | O_CLOEXEC);
	char *p;

	if (fd < 0)
		bail_out("cannot open the file");
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		bail_out("cannot map the file");
	p[0] = 1;
	munmap(p, 4096);
	shared->unmapped = true;
	close(fd);
	return NULL;
}

/* A process of two threads: one holds the mmap lock, the other starts. */
static void locked_process(void)
{
	struct iso iso = { .fd = -1 };
	pthread_t thread;

	if (pthread_create(&thread, NULL, unmapper, NULL))
		bail_out("pthread_create");
	until(shared->asked);
	shared->started = 1;
	/* Opened before, started and mapped after: all of it in this memory. */
	shared->error = iso_pin(1) ?: iso_start(&iso, 0, 0);
	shared->started = 2;
	if (!shared->error)
		shared->error = iso_stop(&iso);
	shared->started = 3;
	pthread_join(thread, NULL);
	_exit(0);
}

static bool becomes(_Atomic int *value, int want)
{
	return comes(*value >= want, PATIENCE_MS);
}

/* Somebody else's start, stop and end, each as fast as on any day. */
static void *others(void *done)
{
	struct worker *w = worker_new(3);
	struct iso iso = { .fd = -1 };

	if (iso_pin(2) || iso_start(&iso, 0, 0))
		return NULL;
	*(_Atomic int *)done = 1;
	if (iso_stop(&iso))
		return NULL;
	*(_Atomic int *)done = 2;
	if (!worker_process(w))
		return NULL;
	kill(w->tid, SIGKILL);
	worker_end(w);
	*(_Atomic int *)done = 3;
	return NULL;
}

static pid_t child(void (*body)(void))
{
	pid_t pid = fork();

	if (!pid)
		body();
	return pid;
}

int main(void)
{
	char options[128];
	_Atomic int done = 0;
	pthread_t other;
	pid_t server, process;
	int fd;

	iso_require(4);
	shared = shared_memory(4096);
	if (!module_load("fuse"))
		bail_out("no FUSE");
	fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
	mkdir("/tmp", 0777);
	mkdir(WHERE, 0700);
	if (fd < 0 || mount("lab", WHERE, "fuse", 0, options))
		bail_out("cannot mount FUSE");
	server = fork();
	if (!server)
		serve(fd);
	process = child(locked_process);
	if (!ok(becomes(&shared->started, 1), "the mmap lock of a process is held"))
		goto end;
	/* Its sibling comes as far as it gets. */
	ok(comes(file_has(STATUS, "cpu 1 isolated", NULL), PATIENCE_MS), "a sibling of its starts");
	ok(shared->started == 1 && !shared->unmapped, "and waits for the lock");
	if (pthread_create(&other, NULL, others, &done))
		bail_out("pthread_create");
	ok(becomes(&done, 1), "somebody else starts meanwhile");
	ok(becomes(&done, 2), "stops");
	ok(becomes(&done, 3), "and is killed while isolated");
	ok(shared->started == 1, "it still waits");
end:
	shared->go = true;
	ok(becomes(&shared->started, 3) && !shared->error, "it gets on once the lock is free: %s",
	   strerror(-shared->error));
	waitpid(process, NULL, 0);
	umount2(WHERE, MNT_DETACH);
	close(fd);
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	return done_testing();
}
