// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "keeper.h"
#include "peers.h"

#define GREETING_MS 2000	/* of a server that is there */
#define ATTEMPTS 3		/* one may go while we come */

static int connect_to(const char *path)
{
	struct sockaddr_un address;
	int connection;

	if (!ivshmem_address(&address, path))
		return -1;
	connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connection >= 0 &&
	    connect(connection, (const struct sockaddr *)&address, sizeof(address))) {
		int error = errno;

		close(connection);
		errno = error;
		return -1;
	}
	return connection;
}

/* The next message, with patience.  False: there is none. */
static bool await(struct peers *peers, int64_t *number, int *file)
{
	for (;;) {
		struct pollfd ready = { .fd = peers->socket, .events = POLLIN };
		int got = ivshmem_receive(peers->socket, &peers->part, number, file);

		if (got)
			return got > 0;
		if (poll(&ready, 1, GREETING_MS) <= 0)
			return false;
	}
}

static bool greeted(struct peers *peers)
{
	int64_t number;
	int file;

	if (!await(peers, &number, &file) || number != IVSHMEM_VERSION)
		return false;
	if (!await(peers, &peers->own_id, &file) || peers->own_id < 0)
		return false;
	return await(peers, &number, &peers->memory) && number == IVSHMEM_MEMORY &&
	       peers->memory >= 0;
}

/* A lock that ends with the process, however it ends. */
static bool lock(const struct peers *peers, char *why, size_t size)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (!fcntl(peers->memory, F_SETLK, &whole))
		return true;
	whole.l_type = F_WRLCK;
	if (fcntl(peers->memory, F_GETLK, &whole))
		whole.l_pid = 0;
	snprintf(why, size, "another generator, process %ld, has these lines: end it first, or choose another --socket",
		 (long)whole.l_pid);
	return false;
}

static bool map(struct peers *peers, char *why, size_t size)
{
	struct stat there;
	void *memory;

	/* What could shrink below us would end this process. */
	if (fstat(peers->memory, &there) || there.st_size < (off_t)SCOPE_LINES_SIZE ||
	    !(fcntl(peers->memory, F_GET_SEALS) & F_SEAL_SHRINK)) {
		snprintf(why, size, "the server's memory is not of %u bytes, sealed: it is none of isolator-generator's",
			 SCOPE_LINES_SIZE);
		return false;
	}
	memory = mmap(NULL, SCOPE_LINES_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
		      peers->memory, 0);
	if (memory == MAP_FAILED) {
		snprintf(why, size, "the server's memory cannot be mapped: %s", strerror(errno));
		return false;
	}
	peers->lines = memory;
	return true;
}

void peers_leave(struct peers *peers)
{
	if (peers->lines)
		munmap(peers->lines, SCOPE_LINES_SIZE);
	if (peers->memory >= 0)
		close(peers->memory);
	if (peers->part.file >= 0)
		close(peers->part.file);
	if (peers->socket >= 0)
		close(peers->socket);
	*peers = (struct peers){ .socket = -1, .memory = -1, .part.file = -1, .last_id = -1 };
}

/* True: connected and greeted.  False: @why says what failed. */
static bool join(struct peers *peers, const char *path, char *why, size_t size)
{
	peers->socket = connect_to(path);
	if (peers->socket < 0 && (errno == ENOENT || errno == ECONNREFUSED)) {
		if (keeper_begin(path)) {
			snprintf(why, size, "cannot serve at %s: %s; choose another --socket", path,
				 errno == EADDRINUSE ? "it exists and is not a socket" :
				 strerror(errno));
			return false;
		}
		peers->socket = connect_to(path);
	}
	if (peers->socket < 0) {
		snprintf(why, size, "cannot connect to %s: %s", path, strerror(errno));
		return false;
	}
	if (greeted(peers))
		return true;
	snprintf(why, size, "%s does not belong to an ivshmem server; choose another --socket", path);
	return false;
}

bool peers_join(struct peers *peers, const char *path, char *why, size_t size)
{
	*peers = (struct peers){ .socket = -1, .memory = -1, .part.file = -1, .last_id = -1 };
	for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
		if (join(peers, path, why, size)) {
			if (map(peers, why, size) && lock(peers, why, size))
				return true;
			break;
		}
		peers_leave(peers);
	}
	peers_leave(peers);
	return false;
}

enum peers_event peers_next(struct peers *peers, uint64_t *id, int *file)
{
	int64_t number;

	while (peers->socket >= 0) {
		int got = ivshmem_receive(peers->socket, &peers->part, &number, file);

		if (!got)
			return PEERS_NONE;
		if (got < 0) {
			close(peers->socket);
			peers->socket = -1;
			return PEERS_SERVER_WENT;
		}
		*id = (uint64_t)number;
		if (*file < 0) {
			peers->last_id = -1;
			return PEERS_WENT;
		}
		/* Of each peer the first doorbell is rung; nobody rings ours. */
		if (number != peers->own_id && number != peers->last_id && number >= 0) {
			peers->last_id = number;
			return PEERS_CAME;
		}
		close(*file);
	}
	return PEERS_NONE;
}
