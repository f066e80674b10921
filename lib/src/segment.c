// SPDX-License-Identifier: LGPL-2.1-or-later
/* The shared memory of a channel or an inbox: made, checked, held, mapped. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "segment.h"

/* No access is beyond the end, whatever the other side does. */
#define SEALS		(F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define MESSAGE_DEFAULT	4096U

int isolator_segment_create(const char *name, struct isolator_ring_header *header)
{
	int error, fd;

	header->version = ISOLATOR_RING_VERSION;
	header->header_bytes = HEADER_BYTES;
	header->slot_bytes = sizeof(struct isolator_slot);
	if (!header->message_bytes) {
		header->message_bytes = header->slots / 4 * ISOLATOR_SLOT_BYTES;
		if (header->message_bytes > MESSAGE_DEFAULT)
			header->message_bytes = MESSAGE_DEFAULT;
	}
	fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return isolator_failed(STEP_CREATE, errno);
	/* All pages now: a page that is not there later is a fault, or a SIGBUS. */
	if (fallocate(fd, 0, 0, (off_t)header->bytes) < 0 ||
	    pwrite(fd, header, sizeof(*header), 0) != sizeof(*header) ||
	    fcntl(fd, F_ADD_SEALS, SEALS) < 0) {
		error = isolator_failed(STEP_CREATE, errno);
		close(fd);
		return error;
	}
	return fd;
}

int isolator_segment_read(int fd, struct isolator_ring_header *header)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat status;

	/* EINVAL: a file of another kind. */
	if (seals < 0 && errno == EBADF)
		return isolator_failed(STEP_SIDE, EBADF);
	if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &status) < 0)
		return isolator_failed(STEP_SIDE, ENOTTY);
	if (pread(fd, header, sizeof(*header), 0) != sizeof(*header) ||
	    header->version != ISOLATOR_RING_VERSION ||
	    header->header_bytes != HEADER_BYTES || header->slot_bytes != sizeof(struct isolator_slot) ||
	    !header->message_bytes ||
	    !isolator_ring_is_sound(header->slots, header->message_bytes) ||
	    status.st_size < 0 || (uint64_t)status.st_size != header->bytes)
		return isolator_failed(STEP_SIDE, EPROTO);
	return 0;
}

/*
 * The lock belongs to the open file: it needs a new one, not a copy of the caller's, and goes when
 * the process does.
 */
int isolator_segment_hold(int fd, unsigned int holder, bool take)
{
	struct flock lock = {
		.l_type = F_WRLCK,
		.l_whence = SEEK_SET,
		.l_start = (off_t)holder,
		.l_len = 1,
	};
	char path[32];
	int own;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = isolator_sys.open(path, O_RDWR | O_CLOEXEC);
	if (own < 0)
		return isolator_failed(STEP_SIDE, errno);
	if (fcntl(own, F_OFD_SETLK, &lock) < 0 && !take) {
		int error = errno == EAGAIN || errno == EACCES ? EBUSY : errno;

		isolator_sys.close(own);
		return isolator_failed(STEP_SIDE, error);
	}
	return own;
}

struct isolator_channel *isolator_new_channels(size_t count)
{
	struct isolator_channel *channels;
	size_t bytes = count * sizeof(*channels);

	channels = aligned_alloc(_Alignof(struct isolator_channel), bytes);
	return channels ? memset(channels, 0, bytes) : NULL;
}

int isolator_segment_map(int fd, uint64_t offset, size_t bytes, void **memory)
{
	unsigned char *mapped;

	mapped = isolator_sys.mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
				   (off_t)offset);
	if (mapped == MAP_FAILED)
		return isolator_failed(STEP_SIDE, errno);
	/* Adding 0 changes nothing that the other side writes meanwhile. */
	for (size_t at = 0; at < bytes; at += HEADER_BYTES)
		atomic_fetch_add_explicit((_Atomic uint64_t *)(void *)(mapped + at), 0,
					  memory_order_relaxed);
	*memory = mapped;
	return 0;
}
