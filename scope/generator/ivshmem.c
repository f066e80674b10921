// SPDX-License-Identifier: GPL-2.0-or-later
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "ivshmem.h"

union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int))];
};

bool ivshmem_send(int socket, int64_t number, int file)
{
	uint64_t coded = htole64((uint64_t)number);
	struct iovec data = { &coded, sizeof(coded) };
	union control control = { .bytes = { 0 } };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1 };
	ssize_t sent;

	if (file >= 0) {
		struct cmsghdr *header;

		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control.bytes);
		header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(file));
		memcpy(CMSG_DATA(header), &file, sizeof(file));
	}
	do
		sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (sent < 0 && errno == EINTR);
	return sent == sizeof(coded);
}

static int file_of(struct msghdr *message)
{
	struct cmsghdr *header = CMSG_FIRSTHDR(message);
	int file;

	if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS ||
	    header->cmsg_len != CMSG_LEN(sizeof(file)))
		return -1;
	memcpy(&file, CMSG_DATA(header), sizeof(file));
	return file;
}

int ivshmem_receive(int socket, struct ivshmem_part *part, int64_t *number, int *file)
{
	struct iovec data = { part->bytes + part->have, sizeof(part->bytes) - part->have };
	union control control;
	struct msghdr message = {
		.msg_iov = &data, .msg_iovlen = 1,
		.msg_control = control.bytes, .msg_controllen = sizeof(control.bytes),
	};
	ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	uint64_t coded;
	int came;

	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	if (!got)
		return -1;
	came = file_of(&message);
	if (came >= 0 && part->file >= 0)
		close(part->file);
	if (came >= 0)
		part->file = came;
	part->have += (size_t)got;
	if (part->have < sizeof(part->bytes))
		return 0;
	memcpy(&coded, part->bytes, sizeof(coded));
	*number = (int64_t)le64toh(coded);
	*file = part->file;
	part->have = 0;
	part->file = -1;
	return 1;
}

bool ivshmem_address(struct sockaddr_un *address, const char *path)
{
	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	if (!*path || strlen(path) >= sizeof(address->sun_path)) {
		errno = ENAMETOOLONG;
		return false;
	}
	strcpy(address->sun_path, path);
	return true;
}
