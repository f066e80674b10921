// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: fadvise
 * row: 28
 * class: quiesce
 * kind: program
 * notick: no
 * about: a program tells the kernel that it no longer needs a file's pages
 */
#include "trigger.h"

enum { ROUNDS = 3, PAGES = 16, PAGE = 4096 };

/* On tmpfs the advice does nothing: a file system of our own. */
static const char make[] =
	"cd /tmp && dd if=/dev/zero of=lab-fadvise.img bs=64k count=16 &&"
	"mke2fs -F lab-fadvise.img && mkdir lab-fadvise && losetup -f >lab-fadvise.loop &&"
	"losetup $(cat lab-fadvise.loop) lab-fadvise.img &&"
	"mount -t ext2 $(cat lab-fadvise.loop) lab-fadvise";
static const char unmake[] =
	"cd /tmp && umount lab-fadvise && losetup -d $(cat lab-fadvise.loop) &&"
	"rm -r lab-fadvise lab-fadvise.img lab-fadvise.loop";

static int resident(void *p)
{
	unsigned char in[PAGES];
	int n = 0;

	need(!mincore(p, PAGES * PAGE, in));
	for (int i = 0; i < PAGES; i++)
		n += in[i] & 1;
	return n;
}

static void *map(int fd)
{
	void *p = mmap(NULL, PAGES * PAGE, PROT_READ, MAP_SHARED, fd, 0);

	need(p != MAP_FAILED);
	return p;
}

int main(void)
{
	static char text[PAGES * PAGE];
	int kept = 0, gone = 0, fd;

	freopen("/dev/null", "w", stderr);
	if (system(make))
		answer(false, "done", "no ext2 on a loop device");
	fd = open("/tmp/lab-fadvise/file", O_RDWR | O_CREAT, 0600);
	need(fd >= 0);
	for (int i = 0; i < ROUNDS; i++) {
		char *p = map(fd);

		memset(text, 'a' + i, sizeof(text));
		need(pwrite(fd, text, sizeof(text), 0) == sizeof(text) && !fdatasync(fd));
		/* A page in use cannot go: every CPU's batches are searched for who holds it. */
		need(p[0] == 'a' + i);
		need(!posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED));
		kept += resident(p) > 0;
		munmap(p, PAGES * PAGE);
		need(!posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED));
		p = map(fd);
		gone += !resident(p);
		munmap(p, PAGES * PAGE);
	}
	close(fd);
	if (system(unmake))
		answer(false, "done", "the file system does not go");
	answer(kept == ROUNDS && gone == ROUNDS, "done",
	       "%d times kept while in use, %d times gone, of %d", kept, gone, ROUNDS);
}
